import { readClock, type Transaction } from '@corral/database';
import { makeAllDue } from './make-all-due.js';

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
