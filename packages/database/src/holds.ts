import type { Transaction } from './connect.js';

/** A period in which Corral changes nothing upstream, in the garden or at a provider. */
export interface Hold {
  readonly id: string;
  readonly reason: 'restored' | 'requested';
  readonly begunAt: Date;
  /** Time at which the restored backup was taken; null if that is unknown. */
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

/** The hold in force, or null. Not cached, so that a hold takes effect with the next change. */
export async function findHold(prisma: Transaction): Promise<Hold | null> {
  const hold = await prisma.installationHold.findFirst({ where: { endedAt: null }, omit: { endedAt: true } });
  return hold === null ? null : { ...hold, reason: hold.reason as Hold['reason'] };
}

/** SQL expression: whether a hold is in force. */
export const isHeldNow = 'EXISTS (SELECT FROM installation_hold WHERE ended_at IS NULL)';

/** Whether a hold is in force. */
export async function isHeld(prisma: Transaction): Promise<boolean> {
  return (await prisma.installationHold.count({ where: { endedAt: null } })) > 0;
}

/** Why a server fails that was rebuilt after the backup from which its row comes. */
export const rebuiltSinceBackup =
  'The server may have been rebuilt after the backup from which this installation was restored. Acknowledge the adoption again to rebuild it.';
