import type { Transaction } from '@corral/database';
import { idOf, keysOf, type SetKey } from './set-key.js';

interface ContestedQuery {
  readonly zoneId: number;
  readonly sets: readonly SetKey[];
  readonly readAt: Date;
  readonly graceMs: number;
}

/** The ids of the sets for which a read at that time proves nothing, because of a write of ours. */
export async function findContested(
  db: Pick<Transaction, 'dnsAuditEntry'>,
  { zoneId, sets, readAt, graceMs }: ContestedQuery,
): Promise<Set<string>> {
  const writes = await db.dnsAuditEntry.findMany({
    where: {
      zoneId,
      OR: keysOf(sets),
      actor: { not: 'upstream' },
      AND: { OR: [{ state: 'pending' }, { completedAt: { gte: new Date(readAt.getTime() - graceMs) } }] },
    },
    select: {
      name: true,
      type: true,
      state: true,
      operation: true,
      completedAt: true,
      actions: { select: { status: true, checkedAt: true } },
    },
  });
  return new Set(writes.filter((write) => contests(write, readAt)).map(idOf));
}

/** A write of ours that is pending, or ended within the grace period before a read. */
interface RecentWrite {
  readonly state: string;
  readonly operation: string;
  readonly completedAt: Date | null;
  readonly actions: readonly { readonly status: string; readonly checkedAt: Date }[];
}

/**
 * Whether a read proves nothing because of this write. An accepted write becomes visible when its action ends; if we have not seen the
 * end, the grace period applies. An update has no action and is visible immediately.
 */
function contests({ state, operation, completedAt, actions }: RecentWrite, readAt: Date): boolean {
  if (state === 'pending') return true;
  if (completedAt === null || (state !== 'completed' && state !== 'settled')) return false;
  if (completedAt >= readAt) return true;
  const hasEnded = actions.some(({ status, checkedAt }) => status !== 'running' && checkedAt < readAt);
  return state === 'completed' && operation !== 'update' && !hasEnded;
}
