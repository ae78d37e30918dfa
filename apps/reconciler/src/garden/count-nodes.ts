import {
  clusterColumns,
  endNodeAddresses,
  type FoundAddress,
  isManaged,
  type NodeCounts,
  poolSpecOf,
  prismaSelect,
  recordAddresses,
  seenOf,
} from '@corral/cluster-data';
import { asClusterId, asTeamId, type ClusterId, type TeamId } from '@corral/contracts';
import { lockRows } from '@corral/database';
import { type BalancerReading, type GardenClient, isGardenError, type NodeReading } from '@corral/garden';
import { spreadMs } from '@corral/service';
import { poolLabel } from '../clusters/model.js';
import { claimRows } from '../loop/claim.js';
import { inBatches } from '../loop/work.js';
import type { Database } from '../services.js';
import { hasApiServer } from '../upkeep/usage.js';

interface CountDeps {
  readonly store: CountStore;
  readonly garden: GardenClient;
  /** Milliseconds between two counts of a cluster whose nodes are not all ready. */
  readonly intervalMs: number;
  readonly onCounted: (outcome: 'counted' | 'away' | 'unknown') => void;
  readonly random?: () => number;
}

/** Concurrent counts. Each may hold a response of 8 MiB. */
const BATCH = 8;
/** SQL: a change of a cluster is reported several times, and one count at its end is enough. */
const onceSettled = "clock_timestamp() + interval '2 s'";
/** SQL: when nodes are counted after a change, unless that is due earlier. */
export const countAfterChange = `LEAST(nodes_due_at, ${onceSettled})`;
/** Deadline of a count. The API servers of clusters may be slow, and must not block the others. */
const ANSWER_MS = 10_000;
const CLAIM_MS = 60_000;
/** Delay after a cluster did not answer, shorter than usual because its count is unknown. */
const AGAIN_MS = 60_000;
/** Maximum milliseconds between two counts of a cluster whose nodes are all ready, as the garden reports too. */
const STEADY_MS = 6 * 3_600_000;

/**
 * Counts the nodes of clusters that changed in the garden, or that are due. A Shoot does not contain its nodes, so the cluster's own
 * API server is asked. This is separate from passes, which wait for the garden's API server only.
 *
 * A garden reports when nodes are missing, are added or removed, or are not ready, and every report makes a count due. So a cluster
 * for which it reports that all are ready, and whose nodes are, is counted more and more rarely: only what nobody reports is
 * left, such as changed labels and new load balancers, and most of that follows a change. The addresses of nodes and load balancers are read with each count.
 *
 * @returns the number of clusters counted
 */
export const countNodes =
  (deps: CountDeps) =>
  (signal: AbortSignal): Promise<number> => {
    const claim = (limit: number) => deps.store.claimDue(limit, CLAIM_MS);
    const work = (due: DueCount) => countOne(deps, due, signal);
    return inBatches({ claim, work, size: BATCH }, signal);
  };

async function countOne(deps: CountDeps, due: DueCount, signal: AbortSignal): Promise<void> {
  const { store, garden, intervalMs, onCounted, random = Math.random } = deps;
  const { shoot, pools, isReportedReady } = due;
  if (shoot === null) {
    onCounted('away');
    if (due.isHibernated) await store.recordSleep(due);
    return store.record(due, { counts: null, againMs: null });
  }
  try {
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
    // One after the other, over one connection: most clusters have none open, and a handshake costs more than the calls.
    const nodes = await garden.listNodes(shoot, inTime);
    const balancers = await garden.listBalancers(shoot, inTime).catch(nullOfGardenError);
    onCounted('counted');
    // The addresses of a part of the cluster would make those of the rest look gone.
    if (balancers !== null) await store.recordAddresses(due, addressesOf(nodes, balancers));
    const counts = countsOf(nodes, pools);
    const isSteady = isReportedReady && isComplete(counts, pools);
    const steadyMs = Math.min(due.unchangedMs, STEADY_MS);
    const againMs = isSteady ? Math.max(intervalMs, steadyMs) : intervalMs;
    await store.record(due, { counts, againMs: spreadMs(againMs, random()) });
  } catch (error) {
    if (!isGardenError(error)) throw error;
    // On shutdown nothing was learned. The claim expires, and another process counts.
    if (signal.aborted) return;
    onCounted('unknown');
    await store.record(due, { counts: null, againMs: spreadMs(Math.min(intervalMs, AGAIN_MS), random()) });
  }
}

function nullOfGardenError(error: unknown): null {
  if (!isGardenError(error)) throw error;
  return null;
}

/** An address of several is that of the first: of a node, a Service, an Ingress. */
function addressesOf(nodes: readonly NodeReading[], balancers: readonly BalancerReading[]): FoundAddress[] {
  const ofBalancers = balancers.flatMap(({ namespace, name, addresses }) =>
    addresses.map((address) => ({ address, kind: 'loadBalancer' as const, name: `${namespace}/${name}`, pool: null })),
  );
  const ofNodes = nodes.flatMap(({ name, labels, externalIps }) =>
    externalIps.map((address) => ({ address, kind: 'node' as const, name, pool: labels[poolLabel] ?? null })),
  );
  return [...ofBalancers.reverse(), ...ofNodes];
}

/** Nodes of managed pools get the label from their worker pool, adopted servers when they join. */
function countsOf(nodes: readonly NodeReading[], pools: readonly CountedPool[]): NodeCounts {
  return Object.fromEntries(
    pools.map(({ name }) => {
      const own = nodes.filter(({ labels }) => labels[poolLabel] === name);
      return [name, { ready: own.filter(({ isReady }) => isReady).length, total: own.length }];
    }),
  );
}

const isComplete = (counts: NodeCounts, pools: readonly CountedPool[]): boolean =>
  pools.every(({ name, minimum }) => {
    const { ready = 0, total = 0 } = counts[name] ?? {};
    return ready === total && total >= minimum;
  });

interface CountedPool {
  readonly name: string;
  /** The number of nodes that it always has. */
  readonly minimum: number;
}

/** A cluster with a due node count. */
interface DueCount {
  readonly teamId: TeamId;
  readonly id: ClusterId;
  readonly name: string;
  /** Null when there is no API server to list nodes from. */
  readonly shoot: { readonly namespace: string; readonly name: string } | null;
  readonly pools: readonly CountedPool[];
  /** Its nodes are deleted. */
  readonly isHibernated: boolean;
  /** Milliseconds since the last change that clients see. */
  readonly unchangedMs: number;
  /** Whether the garden reports that all nodes are ready. */
  readonly isReportedReady: boolean;
  /** End of the claim. */
  readonly claimedUntil: Date;
}

export const countStore = ({ pool, prisma }: Database) => ({
  /** Claims due clusters. They are due again after `retryMs` unless a count is recorded. */
  async claimDue(limit: number, retryMs: number): Promise<DueCount[]> {
    const claimed = await claimRows(prisma, { table: 'cluster', due: 'nodes_due_at' }, { limit, retryMs });
    if (claimed.size === 0) return [];
    const rows = await prisma.cluster.findMany({
      where: { id: { in: [...claimed.keys()] } },
      select: {
        ...prismaSelect({ ...clusterColumns.declared, ...clusterColumns.observed }),
        updatedAt: true,
        team: { select: { id: true, projectNamespace: true } },
        nodePools: { orderBy: { position: 'asc' } },
      },
    });
    return rows.map(({ team: { id: teamId, projectNamespace: namespace }, nodePools, ...row }) => {
      const seen = seenOf(row);
      const claimedUntil = claimed.get(row.id) as Date;
      const isUp = hasApiServer(seen) && row.deletionRequestedAt === null;
      return {
        teamId: asTeamId(teamId),
        id: asClusterId(row.id),
        name: row.name,
        isHibernated: seen.phase === 'Hibernated',
        pools: nodePools
          .map(poolSpecOf)
          .map((pool) => ({ name: pool.name, minimum: isManaged(pool) ? pool.minimum : 0 })),
        isReportedReady: seen.conditions.some(({ type, status }) => type === 'NodesReady' && status === 'True'),
        unchangedMs: claimedUntil.getTime() - retryMs - row.updatedAt.getTime(),
        claimedUntil,
        shoot: isUp && namespace !== null ? { namespace, name: row.shootName } : null,
      };
    });
  },

  /** Records all addresses that the cluster has, unless it is deleted meanwhile. */
  recordAddresses: ({ teamId, id, name }: DueCount, found: readonly FoundAddress[]): Promise<void> =>
    prisma.$transaction(async (tx) => {
      await lockRows(tx, 'cluster', { team_id: teamId, id }, 'KEY SHARE');
      if ((await tx.cluster.count({ where: { teamId, id } })) === 0) return;
      await recordAddresses(tx, { teamId, clusterId: id, name }, found);
    }),

  /** The nodes of a hibernated cluster are deleted, and their addresses with them. */
  recordSleep: ({ teamId, id }: DueCount): Promise<void> => endNodeAddresses(prisma, teamId, id),

  /**
   * Records a count. The entity tag changes only when the numbers differ. A change in the garden during the count leaves the
   * cluster due, and so does the end of the claim, in whose last seconds a change does not show.
   *
   * @param counts null when the nodes are unknown
   * @param againMs milliseconds until the next count, or null for none before the next change
   */
  async record(
    { teamId, id, claimedUntil }: DueCount,
    { counts, againMs }: { readonly counts: NodeCounts | null; readonly againMs: number | null },
  ): Promise<void> {
    await pool.query(
      `UPDATE cluster
       SET node_counts = $3::jsonb, revision = revision + differs::int,
           updated_at = CASE WHEN differs THEN clock_timestamp() ELSE updated_at END,
           nodes_due_at = CASE WHEN nodes_due_at IS DISTINCT FROM $4
                                 OR nodes_due_at <= ${onceSettled} THEN nodes_due_at
                               ELSE clock_timestamp() + make_interval(secs => $5::float8 / 1000) END
       FROM (SELECT id AS counted_id, node_counts IS DISTINCT FROM $3::jsonb AS differs
             FROM cluster WHERE team_id = $1 AND id = $2 FOR NO KEY UPDATE) before
       WHERE id = counted_id`,
      [teamId, id, counts && JSON.stringify(counts), claimedUntil, againMs],
    );
  },
});
type CountStore = ReturnType<typeof countStore>;
