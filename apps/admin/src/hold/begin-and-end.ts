import { operationValues } from '@corral/cluster-data';
import { openOperationStates } from '@corral/contracts';
import { type Hold, type HoldFinding, noJson, readClock, rebuiltSinceBackup, type Transaction } from '@corral/database';

/** Begins a hold without a restore, for example before a risky change of the garden. */
export async function beginHold(tx: Transaction): Promise<void> {
  const now = await readClock(tx);
  await tx.installationHold.create({ data: { reason: 'requested', begunAt: now } });
  await makeAllDue(tx, now);
}

/**
 * Begins the hold of a database that was restored, by this command or in another way. No process may act on the old state, and
 * nothing that ended after the backup may come back by itself.
 *
 * @param backupTakenAt when the backup was taken. Rebuilds after it are looked for
 */
export async function beginHoldOfRestored(tx: Transaction, backupTakenAt: Date): Promise<void> {
  const now = await readClock(tx);
  await tx.installationHold.create({ data: { reason: 'restored', backupTakenAt, begunAt: now } });
  await advanceSequences(tx);
  // Writes that were under way are settled by reading their record sets. A constant state: with a parameter, Postgres reads the whole log.
  await tx.$executeRaw`UPDATE dns_audit_entry SET lease_until = ${now}::timestamptz WHERE state = 'pending'`;
  // People sign in again, because a session may have ended since. Its DNS tokens ended with it.
  await tx.session.deleteMany();
  await tx.dnsToken.updateMany({ where: { sessionId: { not: null }, revokedAt: null }, data: { revokedAt: now } });
  // Events are ordered by transaction numbers of the old server. Streams begin with a reset.
  await tx.teamEvent.deleteMany();
  // Leases and budgets of processes that are gone.
  await tx.leadership.deleteMany();
  await tx.upstreamBudget.deleteMany();
  // A walk that was under way would compare with what it saw before the backup.
  await tx.dnsSyncRun.deleteMany({ where: { state: { not: 'succeeded' } } });
  // Mails that were due have probably been sent.
  await tx.invitation.updateMany({ where: { mailDueAt: { not: null } }, data: { mailDueAt: null } });
  await tx.cluster.updateMany({ data: { leaseUntil: null, observedHash: null } });
  await tx.adoptedServer.updateMany({ data: { leaseUntil: null } });
  await makeAllDue(tx, now);
}

/** Numbers that were given after the backup must not be given again: clients and logs may know them. */
const GAPS = { bigint: 1_000_000, integer: 10_000 } as const;

async function advanceSequences(tx: Transaction): Promise<void> {
  await tx.$queryRaw`
    SELECT setval(format('%I.%I', schemaname, sequencename)::regclass,
                  coalesce(last_value, 0) + CASE data_type::text WHEN 'bigint' THEN ${GAPS.bigint}::int ELSE ${GAPS.integer}::int END)
    FROM pg_sequences WHERE schemaname = 'public'`;
}

export interface Ended {
  readonly keptClusters: number;
  readonly failedServers: number;
  /** Passes only read them, until it is known whether they were rebuilt since the backup. */
  readonly unreadServers: number;
}

/** Findings after which a pass may undo what happened since the backup. Something unread may be one of them. */
const clustersToKeep: readonly HoldFinding[] = ['shoot_ahead', 'to_be_created', 'unread'];

/**
 * Ends the hold. After a restore, clusters whose Shoot is ahead, or that would be created, stay as they are until their team
 * declares again, servers that were rebuilt since fail, and those that were not read are only read. So nothing is created, rolled back or rebuilt silently.
 */
export async function endHold(tx: Transaction, hold: Hold): Promise<Ended> {
  const now = await readClock(tx);
  const ended =
    hold.reason === 'restored'
      ? await keepRestored(tx, hold, now)
      : { keptClusters: 0, failedServers: 0, unreadServers: 0 };
  await tx.installationHold.update({ where: { id: hold.id }, data: { endedAt: now } });
  await makeAllDue(tx, now);
  return ended;
}

/** A server of another kind than `cloud` is never rebuilt by Corral. */
async function keepRestored(tx: Transaction, { id: holdId }: Hold, now: Date): Promise<Ended> {
  const read = await tx.holdFinding.findMany({
    where: { holdId, targetKind: 'AdoptedServer', finding: { not: 'unread' satisfies HoldFinding } },
  });
  const rebuilt = read.filter(({ finding }) => finding === ('rebuilt_since' satisfies HoldFinding));
  const unread = await tx.adoptedServer.updateMany({
    where: { serverKind: 'cloud', id: { notIn: read.map(({ targetId }) => targetId) } },
    data: { unreadHoldId: holdId },
  });
  return {
    keptClusters: await keepClusters(tx, holdId),
    failedServers: await failServers(
      tx,
      rebuilt.map(({ targetId }) => targetId),
      now,
    ),
    unreadServers: unread.count,
  };
}

const keepClusters = (tx: Transaction, holdId: string): Promise<number> => tx.$executeRaw`
  UPDATE cluster SET kept_generation = generation
  WHERE started_at IS NOT NULL AND coalesce(
    (SELECT finding FROM hold_finding
     WHERE hold_id = ${holdId}::uuid AND target_kind = 'Cluster' AND target_id = cluster.id::text), 'unread') = ANY (${clustersToKeep})`;

/** Ends the servers that were rebuilt after the backup as failed. */
async function failServers(tx: Transaction, rebuilt: readonly string[], now: Date): Promise<number> {
  const failed = await tx.adoptedServer.updateManyAndReturn({
    where: { id: { in: [...rebuilt] }, serverKind: 'cloud', deregisterRequestedAt: null },
    data: {
      phase: 'Failed',
      message: rebuiltSinceBackup,
      nodeName: null,
      nodeReady: false,
      memberOfId: null,
      updatedAt: now,
    },
    select: { operationId: true },
  });
  const [, , error] = operationValues({ to: 'failed', code: 'server_changed', message: rebuiltSinceBackup });
  await tx.operation.updateMany({
    where: {
      id: { in: failed.flatMap(({ operationId }) => operationId ?? []) },
      state: { in: [...openOperationStates] },
    },
    data: { state: 'failed', error: JSON.parse(error), waiting: noJson, updatedAt: now, finishedAt: now },
  });
  return failed.length;
}

/** Makes every started cluster and every adopted server due: when a hold begins, to be read, and when it ends, to be worked on. */
async function makeAllDue(tx: Transaction, now: Date): Promise<void> {
  await tx.cluster.updateMany({ where: { startedAt: { not: null } }, data: { dueAt: now } });
  await tx.adoptedServer.updateMany({ data: { dueAt: now } });
}
