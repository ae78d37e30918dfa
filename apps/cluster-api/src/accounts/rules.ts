import { isDeepStrictEqual } from 'node:util';
import type { FieldChange } from '@corral/contracts';

/**
 * What a declaration changes, for the audit log.
 *
 * @param from values by JSON pointer; null for what is new
 */
export function changesOf<P extends Readonly<Record<string, unknown>>>(from: P | null, to: P): FieldChange[] {
  return Object.entries(to)
    .map(([pointer, value]) => ({ pointer, from: from?.[pointer] ?? null, to: value }))
    .filter((change) => !isDeepStrictEqual(change.from, change.to));
}
