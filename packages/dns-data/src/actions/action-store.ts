import { lockRows, type Prisma, readClock, type Transaction } from '@corral/database';
import type { RrsetKey } from '../rrset.js';
import { lockOwner, type OwnerRow, readOpenEntries } from '../writes/owner-entries.js';
import { type ActionPage, type ActionPageLookUp, pageActions } from './action-page.js';

/** The state of an action as the upstream reported it. */
export interface ReportedAction {
  readonly id: number;
  /** `running`, `success` or `error`. */
  readonly status: string;
  /** The upstream's JSON text. */
  readonly body: string;
}

export interface ActionRecord extends ReportedAction {
  /** Record set of the write that started the action. */
  readonly name: string;
  readonly type: string;
  readonly startedAt: Date;
  /** The time when the upstream last reported on it. */
  readonly checkedAt: Date;
  /** The time when the name servers had its write, or were given up. Null if nobody looked. */
  readonly propagatedAt: Date | null;
  readonly isOfDemo: boolean;
}

/** An accepted write whose action failed. */
export interface FailedWrite {
  readonly entryId: number;
  readonly key: RrsetKey;
}

/** Base for the ids of our own actions: far above the upstream's ids, and still a safe integer in JavaScript. */
export const OWN_ACTION_ID_BASE = 2 ** 52;

/** A zone sync has read the set of an older action since. */
const RECHECKED_WITHIN_MS = 3_600_000;

const ofSet = { zoneId: true, name: true, type: true } as const;
const shown = {
  id: true,
  status: true,
  body: true,
  startedAt: true,
  checkedAt: true,
  propagatedAt: true,
  demoId: true,
  auditEntry: { select: { name: true, type: true } },
} as const;

type ActionRow = Omit<ActionRecord, 'id' | 'name' | 'type' | 'isOfDemo'> & {
  readonly id: bigint;
  readonly demoId: string | null;
  readonly auditEntry: { readonly name: string; readonly type: string };
};

const actionRecord = ({ id, demoId, auditEntry, ...action }: ActionRow): ActionRecord => ({
  id: Number(id),
  isOfDemo: demoId !== null,
  ...auditEntry,
  ...action,
});

export const actionStore = (prisma: Prisma) => ({
  /** The requested actions that belong to the team or the demo, ordered by id. A demo's actions are not its team's. */
  async findActions(ownerId: string, ids: readonly number[]): Promise<ActionRecord[]> {
    const rows = await prisma.dnsAction.findMany({
      where: { id: { in: [...ids] }, OR: [{ demoId: ownerId }, { demoId: null, teamId: ownerId }] },
      orderBy: { id: 'asc' },
      select: shown,
    });
    return rows.map(actionRecord);
  },

  /** Reads one page of the owner's newest 1,000 actions. */
  pageActions(lookUp: ActionPageLookUp): Promise<ActionPage> {
    return pageActions(prisma, lookUp);
  },

  /** Running actions whose failure would take back records that their writes freed. */
  async findHolding(ownerId: string): Promise<ActionRecord[]> {
    const holding = (await readOpenEntries(prisma, ownerId)).filter(({ ceiling }) => ceiling !== null);
    const rows = await prisma.dnsAction.findMany({
      where: { auditEntryId: { in: holding.map(({ id }) => id) }, status: 'running' },
      orderBy: { id: 'asc' },
      select: shown,
    });
    return rows.map(actionRecord);
  },

  /**
   * Records the upstream's reports on actions.
   *
   * An action that failed changed nothing upstream although its write was accepted, so its record set is scheduled for
   * a recheck. Actions older than an hour are excluded: a zone sync has read their sets since. An action that succeeded
   * releases the records that its write freed. Each owner has a transaction of its own: one whose row is locked keeps no other waiting, and
   * its actions are looked up again.
   *
   * @throws the first error if nothing could be recorded
   * @returns the writes whose sets must be read again
   */
  async recordActions(reported: readonly ReportedAction[]): Promise<FailedWrite[]> {
    const recorded: FailedWrite[][] = [];
    const errors: unknown[] = [];
    for (const [owner, actions] of await byOwner(prisma, reported)) {
      const work = prisma.$transaction(async (tx) => {
        await lockOwner(tx, owner);
        const failed = await updateActions(tx, actions);
        await releaseCeilings(
          tx,
          actions.map(({ id }) => id),
        );
        return failed;
      });
      await work.then(
        (failed) => recorded.push(failed),
        (error: unknown) => errors.push(error),
      );
    }
    if (recorded.length === 0 && errors.length > 0) throw errors[0];
    return recorded.flat();
  },
});
export type ActionStore = ReturnType<typeof actionStore>;

/** The records that writes freed count against the quotas of their owners. Actions that are not known are left out. */
async function byOwner(
  prisma: Prisma,
  reported: readonly ReportedAction[],
): Promise<Map<OwnerRow, readonly ReportedAction[]>> {
  const where = { id: { in: reported.map(({ id }) => id) } };
  const known = await prisma.dnsAction.findMany({ where, select: { id: true, teamId: true, demoId: true } });
  const states = new Map(reported.map((action) => [action.id, action]));
  const groups = Map.groupBy(known, ({ teamId, demoId }) => demoId ?? teamId);
  return new Map(
    [...groups].flatMap(([id, actions]) => {
      if (id === null) return [];
      const kind = actions[0]?.demoId === null ? 'team' : 'demo';
      return [[{ kind, id }, actions.flatMap((action) => states.get(Number(action.id)) ?? [])] as const];
    }),
  );
}

/** Updates those that run. @returns the writes of those that failed */
async function updateActions(tx: Transaction, reported: readonly ReportedAction[]): Promise<FailedWrite[]> {
  const running = await lockRunning(
    tx,
    reported.map(({ id }) => id),
  );
  const now = await readClock(tx);
  const states = new Map(reported.map((action) => [action.id, action]));
  for (const id of running) {
    const { status, body } = states.get(id) as ReportedAction;
    await tx.dnsAction.updateMany({ where: { id }, data: { status, body, checkedAt: now } });
  }
  const failed = await tx.dnsAction.findMany({
    where: {
      id: { in: running.filter((id) => states.get(id)?.status === 'error') },
      startedAt: { gt: new Date(now.getTime() - RECHECKED_WITHIN_MS) },
    },
    select: { auditEntry: { select: { id: true, ...ofSet } } },
  });
  const entryIds = failed.map(({ auditEntry }) => auditEntry.id);
  await tx.dnsAuditEntry.updateMany({ where: { id: { in: entryIds } }, data: { recheckAt: now } });
  return failed.map(({ auditEntry: { id, zoneId, name, type } }) => ({
    entryId: Number(id),
    key: { zoneId: Number(zoneId), name, type },
  }));
}

async function releaseCeilings(tx: Transaction, ids: readonly number[]): Promise<void> {
  const sets = await tx.dnsAuditEntry.findMany({
    where: { actions: { some: { id: { in: [...ids] } } }, recordsCeiling: { not: null } },
    select: ofSet,
  });
  if (sets.length === 0) return;
  const holding = await tx.dnsAuditEntry.findMany({
    where: { OR: sets, recordsCeiling: { not: null } },
    orderBy: { id: 'asc' },
    select: { id: true, ...ofSet, recheckAt: true, actions: { select: { status: true } } },
  });
  const released = releasable(holding).map(({ id }) => id);
  await tx.dnsAuditEntry.updateMany({ where: { id: { in: released } }, data: { recordsCeiling: null } });
}

/** Ends an action as failed because the upstream never reported its end. Other members of the body are kept. */
export function timedOutAction({ id, body }: { readonly id: number; readonly body: string }, at: Date): ReportedAction {
  const message = 'The upstream did not report an end in time. Read the record set to see its state.';
  const ended = { status: 'error', finished: at.toISOString(), error: { code: 'timeout', message } };
  return { id, status: 'error', body: JSON.stringify({ ...JSON.parse(body), ...ended }) };
}

/** A write that freed records, which count as used until its action has succeeded. */
interface HoldingWrite {
  readonly zoneId: bigint;
  readonly name: string;
  readonly type: string;
  /** Set if its set must be read again. */
  readonly recheckAt: Date | null;
  /** Its action, if it is known. */
  readonly actions: readonly { readonly status: string }[];
}

/**
 * The writes whose freed records are free now. The upstream applies writes to a set in order, so the result of a write depends on the
 * earlier ones: a write with an action that runs or has failed, or that contradicted the mirror, keeps the records of all that follow it,
 * until the set has been read again.
 *
 * @param writes all that hold records of their sets, the earliest first
 */
function releasable<W extends HoldingWrite>(writes: readonly W[]): W[] {
  const bySet = Map.groupBy(writes, ({ zoneId, name, type }) => `${zoneId}/${name}/${type}`);
  return [...bySet.values()].flatMap((ofSet) => {
    const first = ofSet.findIndex(isUncertain);
    return first === -1 ? ofSet : ofSet.slice(0, first);
  });
}

const isUncertain = ({ actions, recheckAt }: HoldingWrite): boolean =>
  actions.some(({ status }) => status !== 'success' || recheckAt !== null);

/**
 * Locks actions until the transaction ends.
 *
 * @returns the ids of those that run, in order
 */
export async function lockRunning(tx: Transaction, ids: readonly number[]): Promise<number[]> {
  await lockRows(tx, 'dns_action', { id: ids, status: 'running' }, 'UPDATE');
  const where = { id: { in: [...ids] }, status: 'running' };
  const running = await tx.dnsAction.findMany({ where, orderBy: { id: 'asc' }, select: { id: true } });
  return running.map(({ id }) => Number(id));
}

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
