import type { Position } from '../domain/position.js';

/** A total order, so that no item is met twice or never, also when several were made in the same moment. */
export const newestFirst = [{ createdAt: 'desc' as const }, { id: 'asc' as const }];

export function isBehind({ createdAt, id }: Position) {
  return { OR: [{ createdAt: { lt: createdAt } }, { createdAt, id: { gt: id } }] };
}
