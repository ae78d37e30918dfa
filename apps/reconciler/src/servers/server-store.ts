import type { ConnectionPhase, OperationWaiting, RebuildPurpose, ServerKind, ServerPhase } from '@corral/contracts';
import type { Pool } from '@corral/database';
import type { Architecture } from '@corral/hcloud';
import { type Lease, leaseValues, ours, type Released } from '../loop/lease-store.js';
import { operationValues } from '../loop/operation-verdict.js';
import type { SealedToken } from '../loop/provider-token.js';
import type { NodeCluster, Verdict, WantedServer } from './model.js';
import { clusterFacts } from './node-cluster.js';

/** Nobody has asked for something else since it was read. `$4` is its generation. */
const stillWanted = `${ours} AND generation = $4 AND deregister_requested_at IS NULL`;

const begin = (purpose: RebuildPurpose, phase: ServerPhase): string =>
  `generation = generation + 1, purpose = '${purpose}', phase = '${phase}', message = '', node_ready = false,
   begun_at = clock_timestamp(), updated_at = clock_timestamp(), failures = 0, image = NULL, rebuild_asked_at = NULL,
   rebuild_action_id = NULL`;

/** What a pass reads and writes. Each write is conditional on the lease: the one of a stale pass changes nothing. */
export const serverStore = (pool: Pool) => {
  const update = async (statement: string, values: readonly unknown[]): Promise<boolean> =>
    (await pool.query(statement, [...values])).rowCount === 1;

  /**
   * Another node more or less, or one that fell ill, is not told by the garden for a while. In a statement of its own: changes
   * of a cluster hold its row before they take servers.
   */
  const requestCount = async ({ teamId }: Lease, clusterId: string): Promise<void> => {
    await pool.query('UPDATE cluster SET nodes_due_at = clock_timestamp() WHERE team_id = $1 AND id = $2', [
      ...[teamId, clusterId],
    ]);
  };

  return {
    /** @returns also the database's clock; null when a later turn was given out: the pass must stop */
    async read(lease: Lease): Promise<{ wanted: WantedServer; token: SealedToken; now: Date } | null> {
      const { rows } = await pool.query<ServerRow>(
        `SELECT adopted_server.*, clock_timestamp() AS now, connection.phase AS connection_phase,
                coalesce(operation.state IN ('queued', 'running') AND operation.kind = 'server.adopt', false) AS is_adopting,
                connection.sealed_token, connection.token_key_id, node_pool.name AS pool_name,
                (SELECT operation.waiting FROM operation
                 WHERE operation.id = operation_id AND operation.team_id = $1
                   AND operation.state IN ('queued', 'running')) AS waiting,
                ${clusterFacts('claiming')} AS claiming, ${clusterFacts('member')} AS member
         FROM adopted_server
         JOIN team ON team.id = adopted_server.team_id
         JOIN connection ON connection.id = adopted_server.connection_id AND connection.team_id = adopted_server.team_id
         LEFT JOIN operation ON operation.id = adopted_server.operation_id AND operation.team_id = adopted_server.team_id
         LEFT JOIN node_pool ON node_pool.id = node_pool_id AND node_pool.team_id = adopted_server.team_id
         LEFT JOIN cluster claiming
                ON claiming.id = node_pool.cluster_id AND claiming.team_id = adopted_server.team_id
         LEFT JOIN cluster member ON member.id = member_of_id AND member.team_id = adopted_server.team_id
         WHERE adopted_server.team_id = $1 AND adopted_server.id = $2 AND adopted_server.lease_fence = $3
           AND adopted_server.lease_until IS NOT NULL`,
        leaseValues(lease),
      );
      const [row] = rows;
      if (row === undefined) return null;
      const token = { connectionId: row.connection_id, keyId: row.token_key_id, sealed: row.sealed_token };
      return { wanted: wantedOf(row), token, now: row.now };
    },

    /** The label was read back from the provider. */
    recordClaim: (lease: Lease, { generation }: WantedServer): Promise<boolean> =>
      update(`UPDATE adopted_server SET claimed_at = clock_timestamp() WHERE ${stillWanted}`, [
        ...leaseValues(lease),
        generation,
      ]),

    /**
     * Writes down, with an entry in the audit log, that the rebuild is about to be asked for. Whoever comes after this
     * reads the server's actions before anything else.
     *
     * @returns false when nothing was written, and nothing may be asked for
     */
    recordAsk: (
      lease: Lease,
      { generation, claim }: WantedServer,
      ask: { askedAt: Date; imageId: number },
    ): Promise<boolean> =>
      update(
        `WITH asked AS (
           UPDATE adopted_server
           SET rebuild_asked_at = $5, image = $6::text, message = '', updated_at = clock_timestamp(),
               phase = CASE WHEN phase = 'Adopting' THEN 'Rebuilding' ELSE phase END
           WHERE ${stillWanted} AND rebuild_asked_at IS NULL
             AND (phase <> 'Joining' OR node_pool_id IS NOT DISTINCT FROM $7)
           RETURNING id, team_id, server_id, generation, image, purpose
         )
         INSERT INTO audit_entry (team_id, action, target_kind, target_id, target_name, detail)
         SELECT team_id, 'server.rebuild', 'AdoptedServer', id, server_id::text,
                jsonb_build_object('generation', generation, 'image', image, 'purpose', purpose)
         FROM asked`,
        [...leaseValues(lease), generation, ask.askedAt, ask.imageId, claim?.poolId ?? null],
      ),

    /** Surely nothing came of the question: it may be asked again. */
    forgetAsk: (lease: Lease, { generation }: WantedServer): Promise<boolean> =>
      update(
        `UPDATE adopted_server SET rebuild_asked_at = NULL WHERE ${ours} AND generation = $4 AND rebuild_action_id IS NULL`,
        [...leaseValues(lease), generation],
      ),

    recordAction: (lease: Lease, { generation }: WantedServer, actionId: number): Promise<boolean> =>
      update(`UPDATE adopted_server SET rebuild_action_id = $5 WHERE ${ours} AND generation = $4`, [
        ...leaseValues(lease),
        ...[generation, actionId],
      ]),

    /**
     * A new generation that is to become a node: from now on the cluster may have one of that name.
     *
     * @returns false when nothing was written: the claim is another one by now
     */
    beginJoin: (
      lease: Lease,
      { generation, claim }: WantedServer,
      { cluster, nodeName }: { cluster: Pick<NodeCluster, 'id'>; nodeName: string },
    ): Promise<boolean> =>
      update(
        `UPDATE adopted_server SET ${begin('join', 'Joining')}, member_of_id = $6, node_name = $7
         WHERE ${stillWanted} AND (phase = 'Ready' OR phase = 'Adopting' AND server_kind <> 'cloud') AND node_name IS NULL
           AND node_pool_id = $5`,
        [...leaseValues(lease), generation, claim?.poolId ?? null, cluster.id, nodeName],
      ),

    /** A new generation that is to be clean. Membership stays until it is. */
    beginLeave: (lease: Lease, { generation, claim }: WantedServer): Promise<boolean> =>
      update(
        `UPDATE adopted_server SET ${begin('leave', 'Leaving')}
         WHERE ${stillWanted} AND node_pool_id IS NOT DISTINCT FROM $5`,
        [...leaseValues(lease), generation, claim?.poolId ?? null],
      ),

    /** The provider refused the token: it is asked about it, unless it was just now. */
    async requestVerification({ teamId }: Lease, connectionId: string): Promise<void> {
      await pool.query(
        `UPDATE connection SET verify_at = least(verify_at, clock_timestamp())
         WHERE team_id = $1 AND id = $2 AND phase = 'Ready'
           AND (verified_at IS NULL OR verified_at < clock_timestamp() - interval '1 minute')`,
        [teamId, connectionId],
      );
    },

    /**
     * Ends a turn with what is to be told, in one statement. Of a server that was acknowledged anew, or is to be
     * detached meanwhile, nothing is told.
     *
     * @param told name: as the provider calls the server; null when it did not tell of it. waiting: why its operation
     *   does not get on, and since when
     */
    async settle(
      lease: Lease,
      wanted: WantedServer,
      verdict: Verdict,
      { name, waiting }: { readonly name: string | null; readonly waiting: OperationWaiting | null },
    ): Promise<Released> {
      const { operation } = verdict;
      const { rows } = await pool.query<{ again: boolean; counts_in: string | null }>(
        `WITH turn AS (
           SELECT id, operation_id, node_ready AS was_ready, member_of_id AS was_member,
                  due_at IS DISTINCT FROM lease_until AS again,
                  generation = $4 AND (deregister_requested_at IS NOT NULL) = $5 AS is_current
           FROM adopted_server WHERE ${ours} FOR UPDATE
         ), operated AS (
           UPDATE operation
           SET state = CASE WHEN $10 THEN $11::operation_state ELSE state END,
               progress = CASE WHEN $10 THEN greatest(progress, $12) ELSE progress END,
               error = $13::jsonb, waiting = $18::jsonb, updated_at = clock_timestamp(), finished_at = CASE WHEN $14 THEN clock_timestamp() END
           FROM turn
           WHERE is_current AND operation.id = turn.operation_id AND operation.team_id = $1
             AND operation.state IN ('queued', 'running')
             AND ($14 OR operation.waiting IS DISTINCT FROM $18::jsonb
                  OR $10 AND (operation.state <> $11::operation_state OR operation.progress < $12))
         )
         UPDATE adopted_server
         SET phase = CASE WHEN is_current THEN $6 ELSE phase END,
             message = CASE WHEN is_current THEN $7 ELSE message END,
             name = coalesce($8, name),
             observed_at = CASE WHEN $8::text IS NULL THEN observed_at ELSE clock_timestamp() END,
             adopted_at = CASE WHEN is_current AND $11 = 'succeeded' THEN clock_timestamp() ELSE adopted_at END,
             failures = $15,
             node_ready = CASE WHEN is_current THEN coalesce($16, node_ready) ELSE node_ready END,
             member_of_id = CASE WHEN is_current AND $17 THEN NULL ELSE member_of_id END,
             node_name = CASE WHEN is_current AND $17 THEN NULL ELSE node_name END,
             updated_at = CASE WHEN is_current AND (phase, message, node_ready)
                                    IS DISTINCT FROM ($6, $7, coalesce($16, node_ready))
                               THEN clock_timestamp() ELSE updated_at END,
             due_at = CASE WHEN again THEN due_at
                           ELSE clock_timestamp() + make_interval(secs => $9::float8 / 1000) END,
             lease_until = NULL
         FROM turn WHERE adopted_server.id = turn.id
         RETURNING again, CASE WHEN node_ready <> was_ready OR member_of_id IS DISTINCT FROM was_member
                               THEN was_member END AS counts_in`,
        [
          ...leaseValues(lease),
          ...[wanted.generation, wanted.deregisterRequestedAt !== null, verdict.phase, verdict.message, name],
          ...[verdict.lookAgainMs, operation.to !== 'stay', ...operationValues(operation), verdict.failures],
          ...[verdict.endsMembership ? false : verdict.nodeReady, verdict.endsMembership],
          waiting && JSON.stringify(waiting),
        ],
      );
      const [settled] = rows;
      if (settled === undefined) return { kind: 'overtaken' };
      if (settled.counts_in !== null) await requestCount(lease, settled.counts_in);
      return { kind: 'released', again: settled.again };
    },

    /** The server is detached: its row goes in the statement that ends its operation. The number is free again. */
    forget: (lease: Lease): Promise<boolean> =>
      update(
        `WITH gone AS (
           DELETE FROM adopted_server WHERE ${ours} AND deregister_requested_at IS NOT NULL
           RETURNING id, team_id, server_id
         ), ended AS (
           UPDATE operation
           SET state = 'succeeded', progress = 100, waiting = NULL, updated_at = clock_timestamp(),
               finished_at = clock_timestamp()
           FROM gone
           WHERE operation.target_id = gone.id AND operation.team_id = gone.team_id
             AND operation.state IN ('queued', 'running')
         )
         INSERT INTO audit_entry (team_id, action, target_kind, target_id, target_name, detail)
         SELECT team_id, 'server.deregistered', 'AdoptedServer', id, server_id::text, '{}' FROM gone`,
        leaseValues(lease),
      ),
  };
};
export type ServerStore = ReturnType<typeof serverStore>;

interface ServerRow {
  id: string;
  now: Date;
  server_id: string;
  server_kind: ServerKind;
  server_type: string;
  location: string;
  architecture: Architecture;
  generation: number;
  acknowledged_at: Date;
  purpose: RebuildPurpose;
  begun_at: Date;
  message: string;
  observed_at: Date | null;
  phase: ServerPhase;
  is_adopting: boolean;
  claim_token: string;
  claimed_at: Date | null;
  image: string | null;
  rebuild_asked_at: Date | null;
  rebuild_action_id: string | null;
  deregister_requested_at: Date | null;
  failures: number;
  waiting: OperationWaiting | null;
  connection_id: string;
  connection_phase: ConnectionPhase;
  sealed_token: Buffer;
  token_key_id: string;
  node_pool_id: string | null;
  pool_name: string | null;
  node_name: string | null;
  claiming: NodeCluster | null;
  member: NodeCluster | null;
}

/** Postgres tells 64-bit numbers as texts; those of the provider are safe integers. */
function wantedOf(row: ServerRow): WantedServer {
  return {
    id: row.id,
    serverId: Number(row.server_id),
    kind: row.server_kind,
    serverType: row.server_type,
    location: row.location,
    architecture: row.architecture,
    generation: row.generation,
    acknowledgedAt: row.acknowledged_at,
    purpose: row.purpose,
    begunAt: row.begun_at,
    message: row.message,
    isAdopting: row.is_adopting,
    observedAt: row.observed_at,
    phase: row.phase,
    claimToken: row.claim_token,
    claimedAt: row.claimed_at,
    imageId: row.image === null ? null : Number(row.image),
    rebuildAskedAt: row.rebuild_asked_at,
    rebuildActionId: row.rebuild_action_id === null ? null : Number(row.rebuild_action_id),
    deregisterRequestedAt: row.deregister_requested_at,
    failures: row.failures,
    waiting: row.waiting,
    connection: { id: row.connection_id, phase: row.connection_phase },
    claim: claimOf(row),
    member: row.member,
    nodeName: row.node_name,
  };
}

function claimOf({ node_pool_id: poolId, pool_name: poolName, claiming: cluster }: ServerRow): WantedServer['claim'] {
  return poolId === null || poolName === null || cluster === null ? null : { poolId, poolName, cluster };
}
