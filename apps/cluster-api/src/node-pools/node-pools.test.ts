import { aPriceList } from '@corral/cluster-data/testing';
import { asClusterId, asServerId, type NodePoolSpec, serverKinds, serverPhases } from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aClusterSpec, aPool } from '../../test/support/a-cluster.js';
import { refusalOf } from '../../test/support/refusal.js';
import { Problem } from '../problem.js';
import { type Claims, decideClaims, type PoolServer, releaseAll } from './claim-servers.js';
import { autoscalerPriorities, checkLastPool, checkPools, pointersInCluster, pointersInPool } from './rules.js';

describe('rules of node pools', () => {
  const withPools = (...nodePools: NodePoolSpec[]) => aClusterSpec({ nodePools });
  const adoptedNodes = new Set<GardenFeature>(['adopted-nodes']);
  const refused = (
    pools: NodePoolSpec[],
    present: NodePoolSpec[] | null = null,
    features: ReadonlySet<GardenFeature> = new Set(),
  ) =>
    refusalOf(() =>
      checkPools(present && withPools(...present), withPools(...pools), { pointers: pointersInCluster, features }),
    );

  describe('node pools', () => {
    it.each<[string, Partial<NodePoolSpec>, string, string]>([
      ['a name twice', { name: 'first' }, 'invalid_node_pool', 'name'],
      ['a minimum above the maximum', { minimum: 4 }, 'invalid_node_pool', 'minimum'],
      ['a source that is not managed', { source: 'onprem' }, 'unsupported_by_garden', 'source'],
      ['nodes without a public address', { publicIP: false }, 'unsupported_by_garden', 'publicIP'],
      ['an unknown image option', { image: { id: 7 } }, 'unsupported_by_garden', 'image/id'],
      [
        'an image option whose name needs escaping',
        { image: { 'a/b~': 'x' } },
        'unsupported_by_garden',
        'image/a~1b~0',
      ],
      ['an image name that is not a string', { image: { name: 7 } }, 'invalid_node_pool', 'image/name'],
      ['an empty image name', { image: { name: '' } }, 'invalid_node_pool', 'image/name'],
      ['an image version without a name', { image: { version: '24.4.0' } }, 'invalid_node_pool', 'image/version'],
      ['an image version that is not a string', { image: { version: 7 } }, 'invalid_node_pool', 'image/version'],
    ])('cannot have %s', (_what, pool, code, field) => {
      const pools = [aPool({ name: 'first' }), aPool({ name: 'second', ...pool })];

      expect(refused(pools)).toEqual([code, `/spec/nodePools/1/${field}`]);
    });

    it.each<[string, GardenFeature, Partial<NodePoolSpec>]>([
      ['have no public address', 'private-nodes', { publicIP: false }],
      ['have image options', 'image-options', { image: { name: 'ubuntu', kind: 'Options', hugePages: true } }],
    ])('may %s where the garden supports it', (_what, feature, more) => {
      expect(refused([aPool(more)], null, new Set([feature]))).toBeNull();
    });

    it.each<[string, Partial<NodePoolSpec>, Partial<NodePoolSpec>, string]>([
      ['private nodes', { publicIP: false }, { image: { name: 'ubuntu', a: '2' } }, 'image/a'],
      ['image options', { image: { name: 'ubuntu', a: '1' } }, { image: { name: 'ubuntu', a: '2' } }, 'image/a'],
    ])('with %s do not block other changes after the garden lost the feature', (_what, present, more, field) => {
      expect(refused([aPool({ ...present, maximum: 9 })], [aPool(present)])).toBeNull();
      expect(refused([aPool({ ...present, ...more })], [aPool(present)])).toEqual([
        'unsupported_by_garden',
        `/spec/nodePools/0/${field}`,
      ]);
    });

    it('are refused with the feature to enable and who can enable it', () => {
      const work = () =>
        checkPools(null, withPools(aPool({ publicIP: false })), { pointers: pointersInCluster, features: new Set() });

      expect(work).toThrow(/operators of this installation to enable private-nodes/);
    });

    it('cannot change their source', () => {
      expect(refused([aPool()], [aPool({ source: 'pooled' })])).toEqual([
        'immutable_field',
        '/spec/nodePools/0/source',
      ]);
    });

    it('are refused with a pointer into the body of a single pool', () => {
      const work = () =>
        checkPools(null, withPools(aPool({ minimum: 4 })), { pointers: pointersInPool, features: new Set() });

      expect(refusalOf(work)).toEqual(['invalid_node_pool', '/spec/minimum']);
    });
  });

  describe('a pool on adopted servers', () => {
    const own = (more: Partial<NodePoolSpec> = {}) => aPool({ source: 'pooled', machineType: 'cx22', ...more });
    const now = (pool: NodePoolSpec, present: NodePoolSpec | null = null) =>
      refused([pool], present && [present], adoptedNodes);

    it.each<[string, NodePoolSpec]>([
      ['pooled with a range of sizes', own({ minimum: 0, maximum: 7 })],
      ['dedicated with a fixed size', own({ source: 'dedicated', minimum: 2, maximum: 2 })],
      ['onprem with a fixed size', own({ source: 'onprem', minimum: 0, maximum: 0 })],
    ])('may be %s', (_what, pool) => {
      expect(now(pool)).toBeNull();
    });

    it.each<[string, Partial<NodePoolSpec>, string, string]>([
      ['a range of sizes when it is dedicated', { source: 'dedicated', minimum: 1 }, 'invalid_node_pool', 'minimum'],
      ['a range of sizes when it is onprem', { source: 'onprem', minimum: 1 }, 'invalid_node_pool', 'minimum'],
      ['an image', { image: { name: 'ubuntu' } }, 'unsupported_by_garden', 'image'],
      ['an image option', { image: { id: 7 } }, 'unsupported_by_garden', 'image'],
      ['no public address', { publicIP: false }, 'unsupported_by_garden', 'publicIP'],
    ])('cannot have %s', (_what, more, code, field) => {
      expect(now(own(more))).toEqual([code, `/spec/nodePools/0/${field}`]);
    });

    it.each<[string, NodePoolSpec, NodePoolSpec, string]>([
      ['source to managed', own(), aPool(), 'source'],
      ['source from managed', aPool(), own(), 'source'],
      ['source to another kind', own(), own({ source: 'onprem', minimum: 3 }), 'source'],
      ['machine type', own(), own({ machineType: 'cx32' }), 'machineType'],
    ])('cannot change its %s', (_what, present, pool, field) => {
      expect(now(pool, present)).toEqual(['immutable_field', `/spec/nodePools/0/${field}`]);
    });

    it.each<[string, Partial<NodePoolSpec>, boolean]>([
      ['may stay unchanged', {}, true],
      ['may shrink', { maximum: 2 }, true],
      ['cannot grow', { maximum: 4 }, false],
    ])('%s after the garden lost the feature', (_what, more, may) => {
      expect(refused([own(more)], [own()])).toEqual(may ? null : ['unsupported_by_garden', '/spec/nodePools/0/source']);
    });
  });

  describe('the last pool of a started cluster', () => {
    it.each<[string, NodePoolSpec[]]>([
      ['be removed', []],
      ['be reduced to a maximum of zero', [aPool({ minimum: 0, maximum: 0 })]],
      ['be replaced by adopted servers alone', [aPool({ source: 'pooled' })]],
    ])('cannot %s', (_what, pools) => {
      expect(refusalOf(() => checkLastPool(withPools(), withPools(...pools), pointersInCluster))).toEqual([
        'last_node_pool',
        '/spec/nodePools',
      ]);
    });

    it('counts only when its maximum is above zero', () => {
      const pools = [aPool({ name: 'a', minimum: 0, maximum: 0 }), aPool({ name: 'b', maximum: 1 })];

      expect(refusalOf(() => checkLastPool(withPools(), withPools(...pools), pointersInCluster))).toBeNull();
    });
  });
});

describe('the priority of a pool', () => {
  const prioritiesOf = (
    pools: readonly Partial<NodePoolSpec>[],
    prices = aPriceList() as Parameters<typeof autoscalerPriorities>[1],
  ) => {
    const nodePools = pools.map((pool, index) => aPool({ name: `p${index}`, ...pool }));
    return [...autoscalerPriorities(aClusterSpec({ nodePools }), prices).values()];
  };
  const machine = (machineType: string) => ({ machineType });

  it.each<[string, Partial<NodePoolSpec>[], number[]]>([
    ['is 0 for a single managed pool', [machine('cpx31')], [0]],
    ['rises as the machines get cheaper', [machine('cpx51'), machine('cpx31'), machine('cap')], [0, 1, 2]],
    ['is equal for equal prices', [machine('cap'), machine('nocap'), machine('cpx51')], [1, 1, 0]],
    ['is the lowest for an unknown price', [machine('ccx13'), machine('cpx31'), machine('cpx51')], [0, 1, 0]],
    ['is highest on adopted servers', [machine('cpx31'), { source: 'onprem' }, machine('cpx51')], [1, 100, 0]],
  ])('%s', (_what, pools, priorities) => {
    expect(prioritiesOf(pools)).toEqual(priorities);
  });

  it('is 0 for all managed pools without a price list', () => {
    expect(prioritiesOf([machine('cpx31'), machine('cpx51'), { source: 'dedicated' }], null)).toEqual([0, 0, 100]);
  });

  it('stays below that of adopted servers and never prefers a higher price', () => {
    const hourly = fc.array(fc.nat(10_000), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(hourly, (prices) => {
        const named = prices.map((each, index) => [`m${index}`, { hel1: { hourly: String(each), monthly: '9999' } }]);
        const list = aPriceList({ serverTypes: Object.fromEntries(named) });
        const priorities = prioritiesOf(
          [...prices.keys()].map((index) => machine(`m${index}`)),
          list,
        );
        for (const [one, priority] of priorities.entries()) {
          expect(priority).toBeLessThan(100);
          for (const [other, otherPriority] of priorities.entries()) {
            if ((prices[one] as number) > (prices[other] as number))
              expect(priority).toBeLessThanOrEqual(otherPriority);
          }
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe('claims of servers', () => {
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

  it('of a deleted cluster are all released', () => {
    const servers = [aServer(1, by('old')), aServer(2, joined('old')), aServer(3, by('own', OTHER)), aServer(4)];

    expect(shown(releaseAll(CLUSTER, servers))).toEqual([[], [1, 2]]);
  });
});

describe('accepted claims', () => {
  const CLUSTER = asClusterId('c-1');
  const names = ['a', 'b', 'c'];
  const types = ['cx22', 'cx32'];
  const claim = fc.record({
    clusterId: fc.constantFrom(CLUSTER, CLUSTER, asClusterId('c-2')),
    cluster: fc.constant('web'),
    nodePool: fc.constantFrom(...names),
  });
  const server = fc.record({
    kind: fc.constantFrom(...serverKinds, 'cloud' as const, 'cloud' as const),
    serverType: fc.constantFrom('cx22', ...types),
    phase: fc.constantFrom('Ready' as const, 'Ready' as const, 'Joined' as const, ...serverPhases),
    claimedBy: fc.option(claim),
    mayBeNode: fc.boolean(),
    isDeregistering: fc.oneof({ arbitrary: fc.constant(false), weight: 5 }, { arbitrary: fc.boolean(), weight: 1 }),
  });
  const fleet = fc
    .array(server, { maxLength: 12 })
    .map((servers) =>
      servers.map((each, index): PoolServer => ({ ...each, id: asServerId(`s-${index}`), serverId: 100 - index })),
    );
  const pools = fc
    .uniqueArray(
      fc.record({
        name: fc.constantFrom(...names),
        source: fc.constantFrom('pooled' as const, 'pooled' as const, 'dedicated' as const, 'managed' as const),
        machineType: fc.constantFrom('cx22', ...types),
        maximum: fc.nat(4),
      }),
      { selector: ({ name }) => name, maxLength: 3 },
    )
    .map((some) => some.map((pool) => aPool({ ...pool, minimum: pool.maximum })));

  /** The decided claims, or null when they were refused. */
  function decided(wanted: readonly NodePoolSpec[], servers: readonly PoolServer[]): Claims | null {
    try {
      return decideClaims(CLUSTER, wanted, servers, pointersInCluster);
    } catch (error) {
      if (error instanceof Problem) return null;
      throw error;
    }
  }

  /** The servers after the store wrote the claims. Releases are written first. */
  function written(servers: readonly PoolServer[], { released, claimed }: Claims): PoolServer[] {
    return servers.map((each) => {
      const taken = claimed.find(({ server: { id } }) => id === each.id);
      if (taken !== undefined) {
        return { ...each, claimedBy: { clusterId: CLUSTER, cluster: 'web', nodePool: taken.nodePool } };
      }
      return released.some(({ id }) => id === each.id) ? { ...each, claimedBy: null } : each;
    });
  }

  const heldBy = (servers: readonly PoolServer[], name: string) =>
    servers.filter(({ claimedBy }) => claimedBy?.clusterId === CLUSTER && claimedBy.nodePool === name);

  const holds = (property: (wanted: NodePoolSpec[], servers: PoolServer[], claims: Claims) => void) =>
    fc.assert(
      fc.property(pools, fleet, (wanted, servers) => {
        const claims = decided(wanted, servers);
        if (claims !== null) property(wanted, servers, claims);
      }),
      { numRuns: 200 },
    );

  it('give each pool exactly its maximum from free servers of its kind and type', () => {
    holds((wanted, servers, claims) => {
      const after = written(servers, claims);

      for (const { name, source, maximum } of wanted) {
        expect(heldBy(after, name)).toHaveLength(source === 'managed' ? 0 : maximum);
      }
      for (const { server: each, nodePool } of claims.claimed) {
        const pool = wanted.find(({ name }) => name === nodePool);
        expect(each).toMatchObject({ mayBeNode: false, isDeregistering: false });
        // A machine that joins by command is still Adopting: it finishes by becoming a node.
        expect(each.kind === 'cloud' ? ['Ready'] : ['Ready', 'Adopting']).toContain(each.phase);
        expect(each.serverType).toBe(pool?.machineType);
        expect(each.kind).toBe(pool?.source === 'pooled' ? 'cloud' : pool?.source);
      }
    });
  });

  it('give no server to two pools and do not touch other clusters', () => {
    holds((_wanted, servers, claims) => {
      const taken = claims.claimed.map(({ server: { id } }) => id);

      expect(new Set(taken).size).toBe(taken.length);
      const others = servers.filter(({ claimedBy }) => claimedBy?.clusterId === 'c-2');
      expect(written(others, claims)).toEqual(others);
    });
  });

  it('change nothing when they are decided again, and do not depend on the order of the servers', () => {
    holds((wanted, servers, claims) => {
      const after = written(servers, claims);

      expect(decided(wanted, after)).toEqual({ released: [], claimed: [] });
      const reversed = written(servers, decided(wanted, [...servers].reverse()) as Claims);
      expect(reversed).toEqual(after);
    });
  });
});
