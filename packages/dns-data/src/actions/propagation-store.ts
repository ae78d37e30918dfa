import type { Prisma } from '@corral/database';

/** A write that has succeeded upstream. The bodies of its set are null where it was absent. */
export interface PropagatingWrite {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly before: string | null;
  readonly after: string | null;
  /** What the mirror has: later writes included. */
  readonly current: string | null;
  readonly startedAt: Date;
}

/** Knows which writes the name servers answer. Nothing about them is stored but when it was over. */
export const propagationStore = (prisma: Prisma) => ({
  /** Those of the actions that have succeeded upstream and whose propagation is not over. */
  async findPropagating(ids: readonly number[]): Promise<PropagatingWrite[]> {
    // Retention may have cut a body. What the set is now is then the best guess.
    const rows = await prisma.$queryRaw<(Omit<PropagatingWrite, 'id'> & { id: bigint })[]>`
      SELECT action.id, entry.name, entry.type, rrset.body AS current, action.started_at AS "startedAt",
        CASE WHEN before_bytes IS NULL THEN before_body ELSE rrset.body END AS before,
        CASE WHEN coalesce(found_bytes, after_bytes) IS NOT NULL THEN rrset.body
             WHEN entry.state = 'settled' THEN found_body ELSE after_body END AS after
      FROM dns_action AS action JOIN dns_audit_entry AS entry ON entry.id = action.audit_entry_id
      LEFT JOIN dns_rrset AS rrset USING (zone_id, name, type)
      WHERE action.id = ANY(${[...ids]}::bigint[]) AND action.status = 'success' AND action.propagated_at IS NULL
      ORDER BY action.id`;
    return rows.map((write) => ({ ...write, id: Number(write.id) }));
  },

  /** Ends the propagation for good, in all processes. @returns the actions for which this call did it */
  async endPropagation(ids: readonly number[]): Promise<number[]> {
    const rows = await prisma.$queryRaw<{ id: bigint }[]>`
      UPDATE dns_action SET propagated_at = clock_timestamp()
      WHERE id IN (SELECT id FROM dns_action WHERE id = ANY(${[...ids]}::bigint[]) ORDER BY id FOR UPDATE)
        AND propagated_at IS NULL
      RETURNING id`;
    return rows.map(({ id }) => Number(id));
  },
});
export type PropagationStore = ReturnType<typeof propagationStore>;
