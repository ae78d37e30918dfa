import type { Queryable } from '../pool.js';
import type { Prisma } from '../prisma.js';

/** A period in which Corral changes nothing upstream, in the garden or at a provider. */
export interface Hold {
  readonly id: string;
  readonly reason: 'restored' | 'requested';
  readonly begunAt: Date;
  /** When the restored backup was taken; null if that is unknown. */
  readonly backupTakenAt: Date | null;
}

/** What was found during a hold about a cluster, an adopted server or a Shoot. `unread`: nothing yet. */
export type HoldFinding =
  | 'as_recorded'
  | 'foreign_shoot'
  | 'rebuilt_since'
  | 'server_absent'
  | 'shoot_absent'
  | 'shoot_ahead'
  | 'shoot_deleted'
  | 'to_be_changed'
  | 'to_be_created'
  | 'to_be_deleted'
  | 'unknown_shoot'
  | 'unread';

const openHold = {
  text: `SELECT id, reason, begun_at AS "begunAt", backup_taken_at AS "backupTakenAt"
         FROM installation_hold WHERE ended_at IS NULL`,
};

/** The hold in force, or null. Not cached, so that a hold takes effect with the next change. */
export async function findHold(db: Queryable): Promise<Hold | null> {
  const { rows } = await db.query<Hold>(openHold);
  return rows[0] ?? null;
}

/** SQL expression: whether a hold is in force. */
export const isHeldNow = 'EXISTS (SELECT FROM installation_hold WHERE ended_at IS NULL)';

/** Whether a hold is in force. */
export async function isHeld(prisma: Pick<Prisma, 'installationHold'>): Promise<boolean> {
  return (await prisma.installationHold.count({ where: { endedAt: null } })) > 0;
}

/** Makes every started cluster and every adopted server due: when a hold begins, to be read, and when it ends, to be worked on. */
export async function makeAllDue(db: Queryable): Promise<void> {
  await db.query('UPDATE cluster SET due_at = clock_timestamp() WHERE started_at IS NOT NULL');
  await db.query('UPDATE adopted_server SET due_at = clock_timestamp()');
}

/** Why a server fails that was rebuilt after the backup from which its row comes. */
export const rebuiltSinceBackup =
  'The server may have been rebuilt after the backup from which this installation was restored. Acknowledge the adoption again to rebuild it.';
