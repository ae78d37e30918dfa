import { isManaged } from '@corral/cluster-data';
import {
  type ClusterId,
  joinsByCommand,
  type NodePoolSpec,
  type ServerId,
  type ServerKind,
  type ServerPhase,
  serverKindOf,
} from '@corral/contracts';
import { checkAll, invalidField, Problem } from '../problem.js';
import type { PoolPointers } from './rules.js';

/** The fields of an adopted server that decide whether a node pool may claim it. */
export interface PoolServer {
  readonly id: ServerId;
  /** The provider's server id. */
  readonly serverId: number;
  readonly kind: ServerKind;
  readonly serverType: string;
  readonly phase: ServerPhase;
  /** The pool that claims it, of any cluster of the team. */
  readonly claimedBy: {
    readonly clusterId: ClusterId;
    readonly cluster: string;
    readonly nodePool: string;
    /** The caller must not learn of the cluster. */
    readonly isHidden?: boolean;
  } | null;
  /** Whether it is a node of a cluster or may still be one. */
  readonly mayBeNode: boolean;
  readonly isDeregistering: boolean;
}

interface Claim {
  readonly server: PoolServer;
  readonly nodePool: string;
}

/** Released and newly claimed servers. A server that moves between two pools is in both lists. */
export interface Claims {
  readonly released: readonly PoolServer[];
  readonly claimed: readonly Claim[];
}

export const noClaims: Claims = { released: [], claimed: [] };

/** Whether any of the pools consists of adopted servers. */
export const useAdoptedServers = (pools: readonly NodePoolSpec[]): boolean => pools.some((pool) => !isManaged(pool));

/**
 * Decides which servers the pools of a cluster claim and release. Each pool on adopted servers holds exactly `maximum`
 * servers afterwards. Pools keep the servers that they have.
 *
 * @param clusterId null for a new cluster
 * @param servers all servers that the team adopted over the cluster's connection
 * @throws Problem `invalid_node_pool` when there are too few servers, `server_claimed` when too few of them are free, with
 *   each such pool
 */
export function decideClaims(
  clusterId: ClusterId | null,
  pools: readonly NodePoolSpec[],
  servers: readonly PoolServer[],
  pointers: PoolPointers,
): Claims {
  const demands = pools.flatMap((pool, index) => {
    if (isManaged(pool)) return [];
    const present = clusterId === null ? [] : servers.filter(isClaimedBy(clusterId, pool.name));
    return [{ pool, place: pointers.pool(index), kept: [...present].sort(joinedFirst).slice(0, pool.maximum) }];
  });
  const kept = new Set(demands.flatMap((demand) => demand.kept));
  const released = servers.filter((server) => server.claimedBy?.clusterId === clusterId && !kept.has(server));
  const free = new Set(servers.filter((server) => isFree(server, released)).sort(byNumber));
  const claimed: Claim[] = [];
  checkAll(
    demands.map((demand) => () => {
      const taken = serversFor(demand, servers, free);
      for (const server of taken) free.delete(server);
      claimed.push(...taken.map((server) => ({ server, nodePool: demand.pool.name })));
    }),
  );
  return { released, claimed };
}

/** The claims of a cluster's deletion: releases all its servers. */
export function releaseAll(clusterId: ClusterId, servers: readonly PoolServer[]): Claims {
  return { released: servers.filter(({ claimedBy }) => claimedBy?.clusterId === clusterId), claimed: [] };
}

/** The ids of all released and claimed servers, without duplicates. */
export function serverIdsOf({ released, claimed }: Claims): ServerId[] {
  return [...new Set([...released, ...claimed.map(({ server }) => server)].map(({ id }) => id))];
}

/** What the audit log says: server ids separated by spaces. Empty lists are omitted. */
export function claimsDetail({ released, claimed }: Claims): Record<string, string> {
  const numbers = (of: readonly PoolServer[]) => of.map(({ serverId }) => serverId).join(' ');
  return {
    ...(claimed.length === 0 ? {} : { claimed: numbers(claimed.map(({ server }) => server)) }),
    ...(released.length === 0 ? {} : { released: numbers(released) }),
  };
}

interface PoolDemand {
  readonly pool: NodePoolSpec;
  readonly place: string;
  readonly kept: readonly PoolServer[];
}

/** The servers that the pool claims in addition to those it keeps: those with the lowest ids. */
function serversFor(
  { pool, place, kept }: PoolDemand,
  servers: readonly PoolServer[],
  free: ReadonlySet<PoolServer>,
): PoolServer[] {
  const missing = pool.maximum - kept.length;
  if (missing <= 0) return [];
  const others = servers.filter((server) => fitsPool(pool, server) && isUsable(server) && !kept.includes(server));
  const { maximum, machineType, source } = pool;
  if (kept.length + others.length < maximum) {
    const bound = `must be at most ${kept.length + others.length}`;
    const why = `that is the number of adopted servers of the type ${machineType} for ${source} pools`;
    throw invalidField(
      'invalid_node_pool',
      `${place}/maximum`,
      `${bound}: ${why}. Adopt more servers, or lower the maximum`,
    );
  }
  const available = others.filter((server) => free.has(server)).sort(byNumber);
  if (available.length >= missing) return available.slice(0, missing);
  const busy = others.filter((server) => !free.has(server)).sort(byNumber);
  const detail =
    `The node pool ${pool.name} needs ${missing} more adopted servers of the type ${machineType}. ` +
    `Free: ${available.length}. In use: ${listed(busy)}. Make the pools that use them smaller, or wait until the servers are Ready.`;
  const message = `needs ${missing} more adopted servers of the type ${machineType}, of which ${available.length} are free`;
  throw new Problem('server_claimed', detail, { errors: [{ pointer: `${place}/maximum`, message, detail }] });
}

const isClaimedBy =
  (clusterId: ClusterId, nodePool: string) =>
  ({ claimedBy }: PoolServer): boolean =>
    claimedBy?.clusterId === clusterId && claimedBy.nodePool === nodePool;

const fitsPool = ({ source, machineType }: NodePoolSpec, { kind, serverType }: PoolServer): boolean =>
  source !== 'managed' && kind === serverKindOf[source] && serverType === machineType;

/** Servers in the other phases may never become nodes. */
const isUsable = ({ phase, isDeregistering }: PoolServer): boolean =>
  !isDeregistering && phase !== 'Failed' && phase !== 'Missing' && phase !== 'Deregistering';

const isFree = (server: PoolServer, released: readonly PoolServer[]): boolean =>
  isClaimable(server) &&
  !server.mayBeNode &&
  !server.isDeregistering &&
  (server.claimedBy === null || released.includes(server));

/** A machine that joins by command finishes its adoption by becoming a node. */
const isClaimable = ({ phase, kind }: PoolServer): boolean =>
  phase === 'Ready' || (phase === 'Adopting' && joinsByCommand(kind));

const byNumber = (one: PoolServer, other: PoolServer): number => one.serverId - other.serverId;

/** Working nodes first: released servers are taken from the end. */
const joinedFirst = (one: PoolServer, other: PoolServer): number =>
  Number(other.phase === 'Joined') - Number(one.phase === 'Joined') || byNumber(one, other);

function listed(servers: readonly PoolServer[]): string {
  const shown = servers.slice(0, 10).map(({ serverId, claimedBy, phase }) => {
    if (claimedBy === null) return `${serverId} (${phase})`;
    const { nodePool, cluster, isHidden = false } = claimedBy;
    return isHidden ? `${serverId}` : `${serverId} (the node pool ${nodePool} of the cluster ${cluster})`;
  });
  return servers.length > shown.length ? `${shown.join(', ')} …` : shown.join(', ');
}
