import { asClusterId, asServerId, type NodePoolSpec } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { aPool } from '../../test/support/a-cluster.js';
import { refusalOf } from '../../test/support/refusal.js';
import { Problem } from '../problem.js';
import { type Claims, claimsDetail, decideClaims, type PoolServer, releaseAll, serverIdsOf } from './claim-servers.js';
import { pointersInCluster, pointersInPool } from './pool-spec.js';

const CLUSTER = asClusterId('c-1');
const OTHER = asClusterId('c-2');
const aServer = (serverId: number, more: Partial<PoolServer> = {}): PoolServer => ({
  id: asServerId(`s-${serverId}`),
  serverId,
  kind: 'cloud',
  serverType: 'cx22',
  phase: 'Ready',
  claimedBy: null,
  mayBeNode: false,
  isDeregistering: false,
  ...more,
});
const by = (nodePool: string, clusterId = CLUSTER) => ({
  claimedBy: { clusterId, cluster: clusterId === CLUSTER ? 'web' : 'shop', nodePool },
});
const joined = (nodePool = 'own') => ({ ...by(nodePool), phase: 'Joined' as const, mayBeNode: true });
const own = (maximum: number, more: Partial<NodePoolSpec> = {}) =>
  aPool({ name: 'own', source: 'pooled', machineType: 'cx22', minimum: 0, maximum, ...more });
const decide = (pools: NodePoolSpec[], servers: PoolServer[]) =>
  decideClaims(CLUSTER, pools, servers, pointersInCluster);
const shown = ({ claimed, released }: Claims) => [
  claimed.map(({ server, nodePool }) => `${nodePool} ${server.serverId}`),
  released.map(({ serverId }) => serverId),
];

describe('a pool on adopted servers', () => {
  it.each<[string, NodePoolSpec[], PoolServer[], [string[], number[]]]>([
    [
      'claims the servers with the lowest ids',
      [own(2)],
      [aServer(30), aServer(4), aServer(100)],
      [['own 4', 'own 30'], []],
    ],
    ['keeps the servers that it has', [own(2)], [aServer(1), aServer(8, by('own')), aServer(9, joined())], [[], []]],
    ['claims only as many as are missing', [own(2)], [aServer(1), aServer(8, joined()), aServer(9)], [['own 1'], []]],
    ['with a maximum of zero claims none', [own(0)], [aServer(1)], [[], []]],
    ['that is managed claims none', [aPool({ machineType: 'cx22' })], [aServer(1)], [[], []]],
    [
      'skips servers of another type, kind, cluster or state',
      [own(1)],
      [
        aServer(1, { serverType: 'cx32' }),
        aServer(2, { kind: 'dedicated' }),
        aServer(3, by('own', OTHER)),
        aServer(4, { mayBeNode: true }),
        aServer(5, { isDeregistering: true }),
        aServer(6, { phase: 'Rebuilding' }),
        aServer(7),
      ],
      [['own 7'], []],
    ],
    [
      'claims machines that finish their adoption by joining it',
      [own(2, { source: 'onprem', minimum: 2 }), own(1, { name: 'cloud' })],
      [
        aServer(1, { kind: 'onprem', phase: 'Adopting', mayBeNode: true }),
        aServer(2, { kind: 'onprem', phase: 'Adopting' }),
        aServer(3, { kind: 'onprem' }),
        aServer(4, { phase: 'Adopting' }),
        aServer(5),
      ],
      [['own 2', 'own 3', 'cloud 5'], []],
    ],
    [
      'claims only servers of the kind that matches its source',
      [
        own(1),
        own(1, { name: 'metal', source: 'dedicated', minimum: 1 }),
        own(1, { name: 'here', source: 'onprem', minimum: 1 }),
      ],
      [aServer(1, { kind: 'onprem' }), aServer(2, { kind: 'dedicated' }), aServer(3)],
      [['own 3', 'metal 2', 'here 1'], []],
    ],
    [
      'first releases servers that have not joined, then those with the highest ids',
      [own(1)],
      [
        aServer(1, joined()),
        aServer(2, joined()),
        aServer(3, by('own')),
        aServer(4, { ...by('own'), phase: 'Failed' }),
      ],
      [[], [2, 3, 4]],
    ],
    [
      'releases a server that has not joined even when its id is the lowest',
      [own(2)],
      [aServer(1, { ...by('own'), phase: 'Joining', mayBeNode: true }), aServer(2, joined()), aServer(3, joined())],
      [[], [1]],
    ],
    ['that is removed releases all its servers', [], [aServer(1, by('own')), aServer(2, joined())], [[], [1, 2]]],
    [
      'may claim a server that another pool of the cluster releases, unless it is a node',
      [own(1, { name: 'new' })],
      [aServer(1, joined('old')), aServer(2, by('old'))],
      [['new 2'], [1, 2]],
    ],
    ['does not release servers of other clusters', [own(0)], [aServer(1, by('own', OTHER))], [[], []]],
    [
      'keeps a failed server instead of claiming another',
      [own(1)],
      [aServer(1, { ...by('own'), phase: 'Failed' })],
      [[], []],
    ],
  ])('%s', (_what, pools, servers, claims) => {
    expect(shown(decide(pools, servers))).toEqual(claims);
  });

  it('of a new cluster keeps nothing', () => {
    expect(shown(decideClaims(null, [own(1)], [aServer(1, by('own')), aServer(2)], pointersInCluster))).toEqual([
      ['own 2'],
      [],
    ]);
  });
});

describe('claims are refused when too few servers', () => {
  const refused = (pools: NodePoolSpec[], servers: PoolServer[], pointers = pointersInCluster) =>
    refusalOf(() => decideClaims(CLUSTER, pools, servers, pointers));
  const few = ['invalid_node_pool', '/spec/nodePools/0/maximum'];
  const busy = ['server_claimed', '/spec/nodePools/0/maximum'];

  it.each<[string, PoolServer[], readonly string[]]>([
    ['exist: none', [], few],
    ['exist: one has another type', [aServer(1), aServer(2, { serverType: 'cx32' })], few],
    ['exist: one has another kind', [aServer(1), aServer(2, { kind: 'onprem' })], few],
    ['exist: one has failed', [aServer(1), aServer(2, { phase: 'Failed' })], few],
    ['exist: one is missing', [aServer(1), aServer(2, { phase: 'Missing' })], few],
    [
      'exist: one is being deregistered',
      [aServer(1), aServer(2, { phase: 'Deregistering', isDeregistering: true })],
      few,
    ],
    ['are free: another cluster has one', [aServer(1), aServer(2, by('own', OTHER))], busy],
    ['are free: one is being adopted', [aServer(1), aServer(2, { phase: 'Adopting' })], busy],
    ['are free: one is leaving a cluster', [aServer(1), aServer(2, { phase: 'Leaving', mayBeNode: true })], busy],
  ])('%s', (_what, servers, refusal) => {
    expect(refused([own(2)], servers)).toEqual(refusal);
  });

  it('remain for the second pool, with a pointer to the pool that lacks them', () => {
    expect(refused([own(1), own(1, { name: 'more' })], [aServer(1)])).toEqual([
      'server_claimed',
      '/spec/nodePools/1/maximum',
    ]);
    expect(refused([own(1), own(2, { name: 'more' })], [aServer(1)])).toEqual([
      'invalid_node_pool',
      '/spec/nodePools/1/maximum',
    ]);
    expect(refused([own(2)], [], pointersInPool)).toEqual(['invalid_node_pool', '/spec/maximum']);
  });

  it('are free, with a message that names the free servers and the pools that use the others', () => {
    const messageOf = (servers: PoolServer[]) => {
      try {
        return shown(decide([own(3)], servers));
      } catch (error) {
        return error instanceof Problem ? (error.errors?.[0]?.detail ?? error.detail) : error;
      }
    };

    expect(messageOf([aServer(7, by('big', OTHER)), aServer(8, { phase: 'Leaving' }), aServer(9)])).toBe(
      'The node pool own needs 3 more adopted servers of the type cx22. Free: 1. In use: 7 (the node pool big of ' +
        'the cluster shop), 8 (Leaving). Make the pools that use them smaller, or wait until the servers are Ready.',
    );
    expect(messageOf([aServer(7)])).toBe(
      'spec.nodePools[0].maximum must be at most 1: that is the number of adopted servers of the type cx22 for pooled pools. Adopt more servers, or lower the maximum.',
    );
  });
});

describe('claimed and released servers', () => {
  const servers = [aServer(1, by('old')), aServer(2, joined('old')), aServer(3, by('own', OTHER)), aServer(4)];
  const claims = decide([own(2, { name: 'new' })], servers);

  it('are in the audit log by id, without empty lists', () => {
    expect(claimsDetail(claims)).toEqual({ claimed: '1 4', released: '1 2' });
    expect(claimsDetail(releaseAll(asClusterId('c-3'), servers))).toEqual({});
  });

  it('are woken once each', () => {
    expect(serverIdsOf(claims)).toEqual(['s-1', 's-2', 's-4']);
  });

  it('include all servers of a deleted cluster', () => {
    expect(shown(releaseAll(CLUSTER, servers))).toEqual([[], [1, 2]]);
  });
});
