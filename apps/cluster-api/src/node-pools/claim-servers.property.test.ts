import { asClusterId, asServerId, type NodePoolSpec, serverKinds, serverPhases } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aPool } from '../../test/support/a-cluster.js';
import { Problem } from '../problem.js';
import { type Claims, decideClaims, type PoolServer } from './claim-servers.js';
import { pointersInCluster } from './pool-spec.js';

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
    { numRuns: 1_000 },
  );

describe('accepted claims', () => {
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

  it('change nothing when they are decided again', () => {
    holds((wanted, servers, claims) => {
      expect(decided(wanted, written(servers, claims))).toEqual({ released: [], claimed: [] });
    });
  });

  it('release only servers above the maximum, and joined nodes last', () => {
    holds((wanted, servers, claims) => {
      for (const { name, source, maximum } of wanted) {
        const before = heldBy(servers, name);
        const gone = before.filter((each) => claims.released.includes(each));
        const stays = before.filter((each) => !claims.released.includes(each));
        expect(gone).toHaveLength(Math.max(0, before.length - (source === 'managed' ? 0 : maximum)));
        if (gone.some(({ phase }) => phase === 'Joined')) {
          expect(stays.every(({ phase }) => phase === 'Joined')).toBe(true);
        }
      }
    });
  });

  it('do not depend on the order of the servers', () => {
    holds((wanted, servers, claims) => {
      const ids = ({ released, claimed }: Claims) => [
        released.map(({ id }) => id).sort(),
        claimed.map(({ server: { id }, nodePool }) => `${nodePool} ${id}`),
      ];

      expect(ids(decided(wanted, [...servers].reverse()) as Claims)).toEqual(ids(claims));
    });
  });
});
