import type { ConnectionId, TeamId } from '@corral/contracts';
import { lockRows, type Queryable, type Transaction } from '@corral/database';

/*
 * The locks of rows that several processes write, in the one order in which all take them: the changes of the team
 * (`lockTeamChanges`), its clusters by their ids, a connection, its price list, and adopted servers by their ids. Two
 * transactions in different orders could wait for each other.
 */

/**
 * Locks the cluster of that name, if there is one. No stronger, because a pass that has locked a server may wait to refer to its
 * cluster, while a change waits for servers.
 */
export const lockCluster = (tx: Transaction, teamId: TeamId, name: string): Promise<void> =>
  lockRows(tx, 'cluster', { team_id: teamId, name });

/** Locks all clusters on a connection. */
export const lockClustersOf = (db: Transaction | Queryable, connectionId: ConnectionId): Promise<void> =>
  lockRows(db, 'cluster', { connection_id: connectionId });

/** Locks the connection of that name to change or delete it. Waits for clusters and servers that are being declared on it. */
export const lockConnection = (tx: Transaction, teamId: TeamId, ref: string): Promise<void> =>
  lockRows(tx, 'connection', { team_id: teamId, ref }, 'UPDATE');

/** Prevents a connection from being deleted or getting another token until the transaction ends. */
export const keepConnection = (
  db: Transaction | Queryable,
  teamId: TeamId,
  connectionId: ConnectionId,
): Promise<void> => lockRows(db, 'connection', { team_id: teamId, id: connectionId }, 'KEY SHARE');

/** The same for the connection of that name, if there is one. */
export const keepConnectionOf = (tx: Transaction, teamId: TeamId, ref: string): Promise<void> =>
  lockRows(tx, 'connection', { team_id: teamId, ref }, 'KEY SHARE');

/** Locks the servers of a connection, as `lockServer` does. */
export const lockServersOf = (tx: Transaction, teamId: TeamId, connectionId: ConnectionId): Promise<void> =>
  lockRows(tx, 'adopted_server', { team_id: teamId, connection_id: connectionId }, 'UPDATE');

/** Locks the server of that number, if the team has one. Waits for a pass that is about to end, and sees what it writes. */
export const lockServer = (tx: Transaction, teamId: TeamId, serverId: number): Promise<void> =>
  lockRows(tx, 'adopted_server', { team_id: teamId, server_id: serverId }, 'UPDATE');
