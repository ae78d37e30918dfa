import { type Prisma, readClock, rowClock, sqlText } from '@corral/database';
import { lockRunning } from './action-store.js';

export type PollLease =
  /** This process polls these actions now; others wait until `endPoll`. */
  | { readonly kind: 'ours'; readonly ids: number[]; readonly until: Date }
  /** Another process is polling or has just polled. Try again after `waitMs`. */
  | { readonly kind: 'taken'; readonly waitMs: number };

export interface PollOptions {
  /** Shortest time between the starts of two polls. */
  readonly intervalMs: number;
  /** A poller that has not called `endPoll` after this time counts as dead. */
  readonly leaseMs: number;
  /** An action is polled while a client has asked for it within this time. */
  readonly wantedMs: number;
}

/** Upper bound of ids in one upstream call. */
const IDS_PER_POLL = 50;
/** An action that started or was checked less than this long ago does not trigger a call. */
const FRESH_MS = 2_000;

/** The rows of the leases: to poll what clients wait for, and to look up the rest. */
const LEASE = { poll: 1, lookUp: 2 } as const;

const clock = sqlText(rowClock);

/** A running action. Its end has not been recorded. */
export interface UnfinishedAction {
  readonly id: number;
  /** The upstream's JSON text. */
  readonly body: string;
  /** It has run so long that it counts as failed unless the upstream says otherwise. */
  readonly overdue: boolean;
}

export interface CheckedAction {
  readonly id: number;
  readonly isRunning: boolean;
  readonly checkedAt: Date;
}

/**
 * Elects the process that polls the upstream for actions, one at a time on behalf of all. What is due, and the lease, come from one
 * statement: what another process has polled meanwhile is not polled again.
 */
export const pollLeases = (prisma: Prisma) => ({
  /**
   * Records that clients wait for these actions, and takes the lease if it is free and an action is due. Due are the
   * actions that clients of any process wait for; the one checked longest ago comes first.
   */
  async takePoll(wanted: readonly number[], { intervalMs, leaseMs, wantedMs }: PollOptions): Promise<PollLease> {
    await noteWanted(prisma, wanted);
    const [lease] = await prisma.$queryRaw<{ until: Date | null; ids: bigint[]; waitMs: number | null }[]>`
      WITH due AS MATERIALIZED (
        SELECT id FROM dns_action
        WHERE status = 'running' AND checked_at <= ${clock} - ${intervalMs} * interval '1 ms'
          AND (id = ANY(${wanted}::bigint[]) OR wanted_at > clock_timestamp() - ${wantedMs} * interval '1 ms')
        ORDER BY checked_at, id LIMIT ${IDS_PER_POLL}
      ), lease AS (
        INSERT INTO dns_action_poll AS poll (id, next_at)
        SELECT ${LEASE.poll}, clock_timestamp() + ${leaseMs} * interval '1 ms' WHERE EXISTS (SELECT FROM due)
        ON CONFLICT (id) DO UPDATE SET next_at = excluded.next_at WHERE poll.next_at <= ${clock}
        RETURNING next_at
      )
      SELECT (SELECT next_at FROM lease) AS until, ARRAY(SELECT id FROM due) AS ids,
        (SELECT greatest(0, extract(epoch FROM next_at - clock_timestamp()) * 1000)::float8
         FROM dns_action_poll WHERE id = ${LEASE.poll}) AS "waitMs"`;
    const { until = null, ids = [], waitMs = null } = lease ?? {};
    if (until !== null) return { kind: 'ours', ids: ids.map(Number), until };
    return { kind: 'taken', waitMs: waitMs ?? 0 };
  },

  /**
   * Takes the lease to look up actions without waiting clients: at most one call per `intervalMs` across all processes.
   * Actions that are due come first, then the newest: a zone sync has already read the sets of older ones. Fresh
   * actions fill the remaining room.
   *
   * @returns at most as many actions as one call can ask for; empty when none is due or the lease is taken
   */
  async takeLookUp(intervalMs: number, overdueMs: number): Promise<UnfinishedAction[]> {
    const rows = await prisma.$queryRaw<(Omit<UnfinishedAction, 'id'> & { id: bigint })[]>`
      WITH due AS MATERIALIZED (
        SELECT id, body, clock_timestamp() - started_at > ${overdueMs} * interval '1 ms' AS overdue,
               checked_at <= clock_timestamp() - ${FRESH_MS} * interval '1 ms' AS is_due
        FROM dns_action WHERE status = 'running'
        ORDER BY is_due DESC, started_at DESC, id DESC LIMIT ${IDS_PER_POLL}
      ), lease AS (
        INSERT INTO dns_action_poll AS poll (id, next_at)
        SELECT ${LEASE.lookUp}, clock_timestamp() + ${intervalMs} * interval '1 ms' WHERE EXISTS (SELECT FROM due WHERE is_due)
        ON CONFLICT (id) DO UPDATE SET next_at = excluded.next_at WHERE poll.next_at <= ${clock}
        RETURNING next_at
      )
      SELECT id, body, overdue FROM due WHERE EXISTS (SELECT FROM lease)`;
    return rows.map((action) => ({ ...action, id: Number(action.id) }));
  },

  /**
   * Ends a lease. Has no effect on the lease of another process that took over.
   *
   * @param until of the lease
   * @param asked the ids the call asked for; an id that the upstream did not mention also moves to the end of the queue
   * @param restMs time until the next lease
   */
  async endPoll(until: Date, asked: readonly number[], restMs: number): Promise<void> {
    await prisma.$transaction(async (tx) => {
      const running = await lockRunning(tx, asked);
      const now = await readClock(tx);
      await tx.dnsAction.updateMany({ where: { id: { in: running } }, data: { checkedAt: now } });
      const nextAt = new Date(now.getTime() + restMs);
      await tx.dnsActionPoll.updateMany({ where: { id: LEASE.poll, nextAt: until }, data: { nextAt } });
    });
  },

  /** Finds when the upstream was last asked for these actions, by any process. */
  async findChecked(ids: readonly number[]): Promise<CheckedAction[]> {
    const rows = await prisma.dnsAction.findMany({
      where: { id: { in: [...ids] } },
      select: { id: true, status: true, checkedAt: true },
    });
    return rows.map(({ id, status, checkedAt }) => ({ id: Number(id), isRunning: status === 'running', checkedAt }));
  },
});
export type PollLeases = ReturnType<typeof pollLeases>;

/** Notes them in a fixed order, without waiting for others who lock them. Once a second is enough. */
async function noteWanted(prisma: Prisma, ids: readonly number[]): Promise<void> {
  await prisma.$executeRaw`
    UPDATE dns_action SET wanted_at = clock_timestamp()
    WHERE id IN (SELECT id FROM dns_action
                 WHERE id = ANY(${ids}::bigint[]) AND status = 'running'
                   AND (wanted_at IS NULL OR wanted_at < clock_timestamp() - interval '1 second')
                 ORDER BY id FOR UPDATE SKIP LOCKED)`;
}
