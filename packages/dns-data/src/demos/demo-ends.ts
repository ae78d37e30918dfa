import { asTeamId } from '@corral/contracts';
import { type Prisma, readClock, rowClock, sqlText } from '@corral/database';
import { backoffMs } from '@corral/service';
import type { RrsetKey, RrsetOwner } from '../rrset.js';
import { byService, concludeEnds, type NotedDemo, noted, ownerOfDemo, releaseLabels } from './demo-rows.js';

/** A record set that remains after its end, or that of its demo. */
export interface RemainingRrset {
  readonly owner: RrsetOwner;
  readonly key: RrsetKey;
  /** It is left alone if the mirror has another body by then. Default: any. */
  readonly body?: string;
}

interface RemainingRow {
  readonly demo_id: string;
  readonly team_id: string | null;
  readonly zone_id: bigint;
  readonly name: string;
  readonly type: string;
}

/** Delay between attempts to delete a demo's records. */
const retry = { firstMs: 10_000, maxMs: 600_000 };

const clock = sqlText(rowClock);
const isOver = sqlText('demo.ended_at IS NOT NULL AND demo.released_at IS NULL');
const leftOver = sqlText(
  'demo JOIN dns_rrset AS rrset ON rrset.zone_id = demo.zone_id AND rrset.owner_label = demo.label',
);

/**
 * Ends demos and cleans up after them. The work is derived from the rows each time, so a crash loses nothing: either a
 * live demo's time is over, or an ended demo still has records in the mirror.
 */
export const demoEnds = (prisma: Prisma) => ({
  /**
   * Ends expired demos, the longest expired first. Their tokens have been refused since their expiry.
   *
   * @returns how many ended; fewer than `max` when no other is due, apart from rows that are locked now
   */
  endExpired(max: number): Promise<number> {
    return prisma.$transaction<number>(async (tx) => {
      const ended = await tx.$queryRaw<(NotedDemo & { expiresAt: Date })[]>`
        UPDATE demo SET ended_at = expires_at, clear_at = clock_timestamp(), made_from = NULL
        WHERE id IN (SELECT id FROM demo WHERE ended_at IS NULL AND expires_at <= ${clock}
                     ORDER BY expires_at, id LIMIT ${max} FOR NO KEY UPDATE SKIP LOCKED)
        RETURNING id, team_id AS "teamId", zone_id AS "zoneId", label, expires_at AS "expiresAt"`;
      const note = { ...byService, operation: 'expire' } as const;
      const inOrder = ended.toSorted((one, other) => one.expiresAt.getTime() - other.expiresAt.getTime());
      if (ended.length > 0) await concludeEnds(tx, inOrder, note, await readClock(tx));
      return ended.length;
    });
  },

  /** Record sets of ended demos without a pending write, the longest due first. */
  async listRemaining(max: number): Promise<RemainingRrset[]> {
    const rows = await prisma.$queryRaw<RemainingRow[]>`
      SELECT demo.id AS demo_id, demo.team_id, rrset.zone_id, rrset.name, rrset.type FROM ${leftOver}
      WHERE ${isOver} AND demo.clear_at <= ${clock}
        AND NOT EXISTS (SELECT FROM dns_audit_entry AS entry
                        WHERE entry.zone_id = rrset.zone_id AND entry.name = rrset.name AND entry.type = rrset.type
                          AND entry.state = 'pending')
      ORDER BY demo.clear_at, demo.id, rrset.name, rrset.type LIMIT ${max}`;
    return rows.map(remainingRrset);
  },

  /** Record sets of one ended demo, whether or not they are due. */
  async listRemainingOf(demoId: string): Promise<RemainingRrset[]> {
    const demo = await prisma.demo.findUnique({ where: { id: demoId }, select: noted });
    if (demo === null) return [];
    const { zoneId, label } = demo;
    const sets = await prisma.dnsRrset.findMany({
      where: { zoneId, ownerLabel: label },
      orderBy: [{ name: 'asc' }, { type: 'asc' }],
      select: { name: true, type: true },
    });
    return sets.map((set) => remainingRrset({ demo_id: demoId, team_id: demo.teamId, zone_id: zoneId, ...set }));
  },

  /** Postpones a demo after a failed deletion, with exponential backoff. */
  async postpone({ id }: RrsetOwner): Promise<void> {
    const now = await readClock(prisma);
    const isDue = { id, clearAt: { lte: now } } as const;
    const demo = await prisma.demo.findUnique({ where: isDue, select: { clearFailures: true } });
    if (demo === null) return;
    const clearAt = new Date(now.getTime() + backoffMs(demo.clearFailures, retry));
    await prisma.demo.updateMany({ where: isDue, data: { clearFailures: { increment: 1 }, clearAt } });
  },

  /** Frees the labels of demos that ended an hour ago and have nothing left. @returns how many */
  releaseLabels: (): Promise<number> => releaseLabels(prisma, sqlText('true')),

  /**
   * Age of the oldest overdue work, in seconds: an expired demo, or a record left by an ended one. 0 when none is due.
   */
  async readBacklogSeconds(): Promise<number> {
    const [row] = await prisma.$queryRaw<{ seconds: number | null }[]>`
      SELECT extract(epoch FROM clock_timestamp() - min(since))::float8 AS seconds
      FROM (SELECT expires_at AS since FROM demo WHERE ended_at IS NULL AND expires_at <= ${clock}
            UNION ALL
            SELECT demo.ended_at FROM ${leftOver} WHERE ${isOver}) AS waiting`;
    return row?.seconds ?? 0;
  },
});
export type DemoEnds = ReturnType<typeof demoEnds>;

function remainingRrset({ demo_id, team_id, zone_id, name, type }: RemainingRow): RemainingRrset {
  return {
    owner: ownerOfDemo({ id: demo_id, teamId: team_id === null ? null : asTeamId(team_id) }),
    key: { zoneId: Number(zone_id), name, type },
  };
}
