import { joinsByCommand, type NodePoolSpec, type ServerKind, type ServerPhase, serverKindOf } from '@corral/contracts';
import { invalidField, Problem } from '../problem.js';
import { isManaged } from './complete-spec.js';
import type { Places } from './places.js';

/** What of an adopted server decides whether a node pool may have it. */
export interface PoolServer {
  readonly id: string;
  /** The provider's number. */
  readonly serverId: number;
  readonly kind: ServerKind;
  readonly serverType: string;
  readonly phase: ServerPhase;
  /** The pool that draws on it, of any cluster of the team. */
  readonly claimedBy: { readonly clusterId: string; readonly cluster: string; readonly nodePool: string } | null;
  /** It is a node of a cluster, or may still be one. */
  readonly isMember: boolean;
  readonly isDeregistering: boolean;
}

export interface Claim {
  readonly server: PoolServer;
  readonly nodePool: string;
}

/** What changes hands. A server may be in both: one pool lets go of it and another one takes it. */
export interface Claims {
  readonly released: readonly PoolServer[];
  readonly claimed: readonly Claim[];
}

export const noClaims: Claims = { released: [], claimed: [] };

type PoolWish = Pick<NodePoolSpec, 'name' | 'source' | 'machineType' | 'maximum'>;

/** Whether any of the pools is made of adopted servers. */
export const drawOnServers = (pools: readonly Pick<NodePoolSpec, 'source'>[]): boolean =>
  pools.some((pool) => !isManaged(pool));

/**
 * Decides which servers the pools of a cluster get and let go of, so that each pool on adopted servers holds `maximum` of
 * them. What a pool has it keeps.
 *
 * @param clusterId null for a cluster that is not there yet
 * @param servers all that the team has adopted over the cluster's connection
 * @throws Problem `invalid_node_pool` when there are too few servers, `server_claimed` when too few of them are free
 */
export function decideClaims(
  clusterId: string | null,
  pools: readonly PoolWish[],
  servers: readonly PoolServer[],
  places: Places,
): Claims {
  const wishes = pools.flatMap((pool, index) => {
    if (isManaged(pool)) return [];
    const held = clusterId === null ? [] : servers.filter(isClaimedBy(clusterId, pool.name));
    return [{ pool, place: places.pool(index), kept: [...held].sort(dearestFirst).slice(0, pool.maximum) }];
  });
  const kept = new Set(wishes.flatMap((wish) => wish.kept));
  const released = servers.filter((server) => server.claimedBy?.clusterId === clusterId && !kept.has(server));
  const free = new Set(servers.filter((server) => isFree(server, released)).sort(byNumber));
  const claimed = wishes.flatMap((wish) => {
    const taken = serversFor(wish, servers, free);
    for (const server of taken) free.delete(server);
    return taken.map((server): Claim => ({ server, nodePool: wish.pool.name }));
  });
  return { released, claimed };
}

/** What the deletion of a cluster lets go of: all that it has. */
export function releaseAll(clusterId: string, servers: readonly PoolServer[]): Claims {
  return { released: servers.filter(({ claimedBy }) => claimedBy?.clusterId === clusterId), claimed: [] };
}

/** Of the servers that change hands, each once. */
export function serverIdsOf({ released, claimed }: Claims): string[] {
  return [...new Set([...released, ...claimed.map(({ server }) => server)].map(({ id }) => id))];
}

/** For the audit log: the numbers, where there are any. */
export function claimsDetail({ released, claimed }: Claims): Record<string, string> {
  const numbers = (of: readonly PoolServer[]) => of.map(({ serverId }) => serverId).join(' ');
  return {
    ...(claimed.length === 0 ? {} : { claimed: numbers(claimed.map(({ server }) => server)) }),
    ...(released.length === 0 ? {} : { released: numbers(released) }),
  };
}

interface Wish {
  readonly pool: PoolWish;
  readonly place: string;
  readonly kept: readonly PoolServer[];
}

/** The servers that the pool gets beside those that it keeps: those of the lowest numbers. */
function serversFor(
  { pool, place, kept }: Wish,
  servers: readonly PoolServer[],
  free: ReadonlySet<PoolServer>,
): PoolServer[] {
  const missing = pool.maximum - kept.length;
  if (missing <= 0) return [];
  const others = servers.filter((server) => isFor(pool, server) && isOfUse(server) && !kept.includes(server));
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
  throw new Problem(
    'server_claimed',
    `The node pool ${pool.name} needs ${missing} more adopted servers of the type ${machineType}. ` +
      `Free: ${available.length}. In use: ${listed(busy)}. Make the pools that use them smaller, or wait until the servers are Ready.`,
  );
}

const isClaimedBy =
  (clusterId: string, nodePool: string) =>
  ({ claimedBy }: PoolServer): boolean =>
    claimedBy?.clusterId === clusterId && claimedBy.nodePool === nodePool;

const isFor = ({ source, machineType }: PoolWish, { kind, serverType }: PoolServer): boolean =>
  source !== 'managed' && kind === serverKindOf[source] && serverType === machineType;

/** Of the others nobody can tell that they will ever be nodes. */
const isOfUse = ({ phase, isDeregistering }: PoolServer): boolean =>
  !isDeregistering && phase !== 'Failed' && phase !== 'Missing' && phase !== 'Deregistering';

const isFree = (server: PoolServer, released: readonly PoolServer[]): boolean =>
  isInReach(server) &&
  !server.isMember &&
  !server.isDeregistering &&
  (server.claimedBy === null || released.includes(server));

/** A machine that joins by command is adopted by becoming a node. */
const isInReach = ({ phase, kind }: PoolServer): boolean =>
  phase === 'Ready' || (phase === 'Adopting' && joinsByCommand(kind));

const byNumber = (one: PoolServer, other: PoolServer): number => one.serverId - other.serverId;

/** A node that works is worth more than one that has yet to come. */
const dearestFirst = (one: PoolServer, other: PoolServer): number =>
  Number(other.phase === 'Joined') - Number(one.phase === 'Joined') || byNumber(one, other);

function listed(servers: readonly PoolServer[]): string {
  const shown = servers.slice(0, 10).map(({ serverId, claimedBy, phase }) => {
    const why = claimedBy === null ? phase : `the node pool ${claimedBy.nodePool} of the cluster ${claimedBy.cluster}`;
    return `${serverId} (${why})`;
  });
  return servers.length > shown.length ? `${shown.join(', ')} …` : shown.join(', ');
}
