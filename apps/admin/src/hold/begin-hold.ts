import { makeAllDue, type Queryable } from '@corral/database';

/** Begins a hold without a restore, for example before a risky change of the garden. */
export async function beginHold(tx: Queryable): Promise<void> {
  await tx.query("INSERT INTO installation_hold (reason) VALUES ('requested')");
  await makeAllDue(tx);
}

/**
 * Begins the hold of a database that was restored, by this command or in another way. No process may act on the old state, and
 * nothing that ended after the backup may come back by itself.
 *
 * @param takenAt when the backup was taken. Rebuilds after it are looked for
 */
export async function beginHoldOfRestored(tx: Queryable, takenAt: Date): Promise<void> {
  await tx.query("INSERT INTO installation_hold (reason, backup_taken_at) VALUES ('restored', $1)", [takenAt]);
  await advanceSequences(tx);
  // Writes that were under way are settled by reading their record sets.
  await tx.query("UPDATE dns_audit_entry SET lease_until = clock_timestamp() WHERE state = 'pending'");
  // People sign in again, because a session may have ended since. Its DNS tokens ended with it.
  await tx.query('DELETE FROM session');
  await tx.query(
    'UPDATE dns_token SET revoked_at = clock_timestamp() WHERE session_id IS NOT NULL AND revoked_at IS NULL',
  );
  // Events are ordered by transaction numbers of the old server. Streams begin with a reset.
  await tx.query('DELETE FROM team_event');
  // Leases and budgets of processes that are gone.
  await tx.query('DELETE FROM leadership');
  await tx.query('DELETE FROM upstream_budget');
  // A walk that was under way would compare with what it saw before the backup.
  await tx.query("DELETE FROM dns_sync_run WHERE state <> 'succeeded'");
  // Mails that were due have probably been sent.
  await tx.query('UPDATE invitation SET mail_due_at = NULL WHERE mail_due_at IS NOT NULL');
  await tx.query('UPDATE cluster SET lease_until = NULL, observed_hash = NULL');
  await tx.query('UPDATE adopted_server SET lease_until = NULL');
  await makeAllDue(tx);
}

/** Numbers that were given after the backup must not be given again: clients and logs may know them. */
const GAPS = { bigint: 1_000_000, integer: 10_000 } as const;

async function advanceSequences(tx: Queryable): Promise<void> {
  await tx.query(
    `SELECT setval(format('%I.%I', schemaname, sequencename)::regclass,
                   coalesce(last_value, 0) + CASE data_type::text WHEN 'bigint' THEN ${GAPS.bigint} ELSE ${GAPS.integer} END)
     FROM pg_sequences WHERE schemaname = 'public'`,
  );
}
