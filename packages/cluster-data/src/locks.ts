import type { ConnectionId, TeamId } from '@corral/contracts';
import type { Queryable, Transaction } from '@corral/database';

/*
 * The locks of rows that several processes write, in the one order in which all take them: the changes of the team
 * (`lockTeamChanges`), its clusters by their ids, a connection, its price list, and adopted servers by their ids. Two
 * transactions in different orders could wait for each other.
 *
 * What is decided on is read after its lock, in a statement of its own: what a locking statement itself returns may be
 * older than the lock.
 */

const lock = async (db: Transaction | Queryable, text: string, values: readonly unknown[]): Promise<void> => {
  if ('$queryRawUnsafe' in db) await db.$queryRawUnsafe(text, ...values);
  else await db.query(text, [...values]);
};

/**
 * Locks the cluster of that name, if there is one. No stronger, because a pass that has locked a server may wait to refer to its
 * cluster, while a change waits for servers.
 */
export const lockCluster = (tx: Transaction, teamId: TeamId, name: string): Promise<void> =>
  lock(tx, 'SELECT id FROM cluster WHERE team_id = $1::uuid AND name = $2 FOR NO KEY UPDATE', [teamId, name]);

/** Locks all clusters on a connection. */
export const lockClustersOf = (db: Transaction | Queryable, connectionId: ConnectionId): Promise<void> =>
  lock(db, 'SELECT id FROM cluster WHERE connection_id = $1::uuid ORDER BY id FOR NO KEY UPDATE', [connectionId]);

/** Locks all clusters on the connection of that name, if there is one. */
export const lockClustersOfRef = (tx: Transaction, teamId: TeamId, ref: string): Promise<void> =>
  lock(
    tx,
    `SELECT id FROM cluster
     WHERE connection_id = (SELECT id FROM connection WHERE team_id = $1::uuid AND ref = $2)
     ORDER BY id FOR NO KEY UPDATE`,
    [teamId, ref],
  );

/** Locks the connection of that name to change or delete it. Waits for clusters and servers that are being declared on it. */
export const lockConnection = (tx: Transaction, teamId: TeamId, ref: string): Promise<void> =>
  lock(tx, 'SELECT id FROM connection WHERE team_id = $1::uuid AND ref = $2 FOR UPDATE', [teamId, ref]);

/** Prevents a connection from being deleted or getting another token until the transaction ends. */
export const keepConnection = (
  db: Transaction | Queryable,
  teamId: TeamId,
  connectionId: ConnectionId,
): Promise<void> =>
  lock(db, 'SELECT id FROM connection WHERE team_id = $1::uuid AND id = $2::uuid FOR KEY SHARE', [
    teamId,
    connectionId,
  ]);

/** Locks the server of that number, if the team has one. Waits for a pass that is about to end, and sees what it writes. */
export const lockServer = (tx: Transaction, teamId: TeamId, serverId: number): Promise<void> =>
  lock(tx, 'SELECT id FROM adopted_server WHERE team_id = $1::uuid AND server_id = $2::bigint FOR UPDATE', [
    teamId,
    BigInt(serverId),
  ]);
