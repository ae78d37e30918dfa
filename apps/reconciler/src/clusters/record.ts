import {
  endAddressesOfDeleted,
  isNewsAbout,
  operationValues,
  requestVerification,
  succeedOperations,
  verdictAssignments,
} from '@corral/cluster-data';
import type { ClusterId, ConnectionId, OperationId } from '@corral/contracts';
import { type Prisma, readClock } from '@corral/database';
import { countAfterChange } from '../garden/count-nodes.js';
import { leaseValues, ourRow, ours, type PassLease, type Released, targetOf } from '../loop/lease.js';
import type { Database } from '../services.js';
import type { Learned } from './decide/shoot-runs.js';
import type { Desired, Verdict } from './model.js';

type Update = Parameters<Prisma['cluster']['updateMany']>[0];

/** The result of a pass. */
export interface PassRecord {
  readonly verdict: Verdict;
  /** Generation of the verdict. A newer one, accepted during the pass, is not affected. */
  readonly generation: number;
  /** The operation that is open, or that has failed for this generation. */
  readonly operationId: OperationId | null;
  /** What answers of the garden have taught, or null. */
  readonly learned: Learned | null;
  /** Null: nothing was seen. */
  readonly observedHash: string | null;
  /** Number of consecutive failed passes. */
  readonly failures: number;
}

/** Parameters of the statement that records a pass. */
const operationParameters = {
  state: '$14',
  progress: '$15',
  error: '$16',
  isFinal: '$17',
  changes: '$18',
  waiting: '$19::jsonb',
} as const;

const learnedValues = (learned: Learned | null): unknown[] => [
  learned?.shootUid ?? null,
  learned?.appliedGeneration ?? null,
  learned?.appliedShootGeneration ?? null,
  learned?.appliedAt ?? null,
  learned?.appliedTokenVersion ?? null,
  learned?.retriedGeneration ?? null,
];

type Forgotten = Pick<Desired, 'name' | 'shootName' | 'generation'>;

/** The team of a lease that is still valid. */
const teamOf = (lease: PassLease<ClusterId>) => ({ id: lease.teamId, clusters: { some: ourRow(lease) } });

/** What a pass writes. Each write is conditional on the lease: the one of a stale pass changes nothing. */
export const recordStore = ({ pool, prisma }: Database) => {
  /** @returns false when a later lease was granted: nothing was written, and the pass must stop */
  const update = async (lease: PassLease<ClusterId>, data: Update['data'], where: Update['where'] = {}) =>
    (await prisma.cluster.updateMany({ where: { ...ourRow(lease), ...where }, data })).count === 1;

  return {
    /**
     * Records what answers of the garden have taught before the verdict, or without one. The Shoot that was found under the name is
     * ours, regardless of its creator. A recorded Shoot UID stays.
     */
    recordLearned: (lease: PassLease<ClusterId>, learned: Pick<Learned, 'shootUid'> & Partial<Learned>) =>
      update(lease, learned, { OR: [{ shootUid: null }, { shootUid: learned.shootUid }] }),

    /**
     * Records that a declaration takes fields over from other managers. Written before the takeover, and once per declaration and
     * field: a repeated pass finds its entry.
     *
     * @param override fields: API names with the previous manager of each
     */
    async recordOverride(
      lease: PassLease<ClusterId>,
      override: { generation: number; fields: readonly { field: string; manager: string }[] },
    ): Promise<boolean> {
      const { rows } = await pool.query(
        `WITH leased AS (
           SELECT id, team_id, name FROM cluster WHERE ${ours}
         ), noted AS (
           INSERT INTO audit_entry (team_id, action, target_kind, target_id, target_name, detail)
           SELECT team_id, 'cluster.override', 'Cluster', id, name, $4::jsonb FROM leased
           WHERE NOT EXISTS (SELECT FROM audit_entry entry WHERE entry.target_id = leased.id
                             AND entry.action = 'cluster.override' AND entry.detail = $4::jsonb)
         )
         SELECT id FROM leased`,
        [...leaseValues(lease), JSON.stringify(override)],
      );
      return rows.length === 1;
    },

    recordPinnedVersion: (lease: PassLease<ClusterId>, pinnedVersion: string): Promise<boolean> =>
      update(lease, { pinnedVersion }),

    /** The team's namespace, as its Project states it. */
    async recordNamespace(lease: PassLease<ClusterId>, projectNamespace: string): Promise<boolean> {
      const { count } = await prisma.team.updateMany({ where: teamOf(lease), data: { projectNamespace } });
      return count === 1;
    },

    /**
     * The namespace is gone from the garden, with the Project and the team's credentials. Both are created again before the next
     * Shoot.
     */
    async forgetNamespace(lease: PassLease<ClusterId>): Promise<void> {
      await prisma.$transaction(async (tx) => {
        const { count } = await tx.team.updateMany({ where: teamOf(lease), data: { projectNamespace: null } });
        if (count === 0) return;
        await tx.connection.updateMany({ where: { teamId: lease.teamId }, data: { gardenTokenVersion: 0 } });
      });
    },

    /** The provider refused our token to the garden. Requests a verification, unless one was made recently. */
    requestVerification: ({ teamId }: PassLease<ClusterId>, connectionId: ConnectionId): Promise<void> =>
      requestVerification(pool, { teamId, connectionId }, 'garden'),

    /**
     * A token was written to the garden. Passes of two clusters may do so concurrently, one of them with a replaced token, and the
     * order of the writes is unknown. The older version is recorded then, and the next pass writes the current token again.
     *
     * @param before the garden's token version at the start of the pass
     */
    async recordGardenToken(
      lease: PassLease<ClusterId>,
      { connectionId, version, before }: { connectionId: ConnectionId; version: number; before: number },
    ): Promise<boolean> {
      const { rowCount } = await pool.query(
        `UPDATE connection SET garden_token_version = CASE WHEN garden_token_version = $6 THEN $5
                                                           ELSE least(garden_token_version, $5) END
         WHERE team_id = $1 AND id = $4 AND EXISTS (SELECT FROM cluster WHERE ${ours})`,
        [...leaseValues(lease), connectionId, version, before],
      );
      return rowCount === 1;
    },

    /**
     * Records the verdict in one statement: cluster, operation, what was learned and time of the next pass. Frees the lease. The
     * pass is repeated if the cluster became due meanwhile, or if the last reported state of the Shoot is another than what the
     * pass has seen.
     */
    async recordPass(lease: PassLease<ClusterId>, record: PassRecord): Promise<Released> {
      const { verdict, generation, operationId, observedHash, failures, learned } = record;
      const { operation, waiting } = verdict;
      const { rows } = await pool.query<{ again: boolean }>({
        name: 'record-cluster-pass',
        text: `WITH leased AS (
           SELECT id, due_at IS DISTINCT FROM lease_until AS is_due,
                  sighted_hash IS NOT NULL AND sighted_hash IS DISTINCT FROM $10 AS is_changed, generation = $4 AS is_current,
                  generation = $4
                    AND ((phase, seed_name, migration_phase, conditions, observed_generation, observed)
                           IS DISTINCT FROM ($5, $6::text, $7::text, $8::jsonb, $9::int, $20::jsonb)
                         OR $18 AND EXISTS (SELECT FROM operation
                                            WHERE operation.id = $13 AND operation.team_id = $1
                                              AND operation.state <> $14::operation_state)) AS reads_differently
           FROM cluster WHERE ${ours} FOR UPDATE
         ), operated AS (
           UPDATE operation SET ${verdictAssignments(operationParameters)}
           FROM leased
           WHERE operation.id = $13 AND operation.team_id = $1 AND operation.target_id = $2
             AND ${isNewsAbout(operationParameters)}
         )
         UPDATE cluster
         SET phase = CASE WHEN is_current THEN $5 ELSE phase END,
             seed_name = CASE WHEN is_current THEN $6 ELSE seed_name END,
             migration_phase = CASE WHEN is_current THEN $7 ELSE migration_phase END,
             conditions = CASE WHEN is_current THEN $8::jsonb ELSE conditions END,
             observed_generation = CASE WHEN is_current THEN $9 ELSE observed_generation END,
             observed = CASE WHEN is_current THEN $20::jsonb ELSE observed END,
             revision = revision + reads_differently::int,
             updated_at = CASE WHEN reads_differently THEN clock_timestamp() ELSE updated_at END,
             nodes_due_at = CASE WHEN $10 <> coalesce(observed_hash, '') THEN ${countAfterChange} ELSE nodes_due_at END,
             shoot_uid = coalesce(shoot_uid, $21), applied_generation = coalesce($22, applied_generation),
             applied_shoot_generation = coalesce($23, applied_shoot_generation),
             applied_at = CASE WHEN $22 IS NULL THEN applied_at ELSE $24 END,
             applied_token_version = coalesce($25, applied_token_version),
             retried_generation = coalesce($26, retried_generation),
             observed_hash = coalesce($10, observed_hash),
             failures = $11, waiting = $19::jsonb,
             due_at = CASE WHEN is_due THEN due_at WHEN is_changed THEN clock_timestamp()
                           ELSE clock_timestamp() + make_interval(secs => $12::float8 / 1000) END,
             lease_until = NULL
         FROM leased WHERE cluster.id = leased.id
         RETURNING is_due OR is_changed AS again`,
        values: [
          ...leaseValues(lease),
          generation,
          verdict.phase,
          verdict.seedName,
          verdict.migrationPhase,
          JSON.stringify(verdict.conditions),
          verdict.observedGeneration,
          observedHash,
          failures,
          verdict.nextPassMs,
          operationId,
          ...operationValues(operation),
          operation.to !== 'stay',
          waiting && JSON.stringify(waiting),
          verdict.observed && JSON.stringify(verdict.observed),
          ...learnedValues(learned),
        ],
      });
      return rows[0] === undefined ? { kind: 'overtaken' } : { kind: 'released', again: rows[0].again };
    },

    /** Deletes the row of a deleted cluster with the end of its operation. The name is free again. */
    forget: (lease: PassLease<ClusterId>, { name, shootName, generation }: Forgotten): Promise<boolean> =>
      prisma.$transaction(async (tx) => {
        const where = { ...ourRow(lease), deletionRequestedAt: { not: null } };
        if ((await tx.cluster.deleteMany({ where })).count === 0) return false;
        const [target, now] = [targetOf(lease), await readClock(tx)];
        await endAddressesOfDeleted(tx, lease.teamId);
        await succeedOperations(tx, { ...target, now }, { kind: 'cluster.delete', generation });
        const deleted = { action: 'cluster.deleted', targetKind: 'Cluster', targetName: name, detail: { shootName } };
        await tx.auditEntry.create({ data: { ...target, ...deleted, createdAt: now } });
        return true;
      }),
  };
};
export type RecordStore = ReturnType<typeof recordStore>;
