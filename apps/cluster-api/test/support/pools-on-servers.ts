import type { NodePoolSpec } from '@corral/contracts';
import { aPool } from './a-cluster.js';
import type { TestClusterApi, TestTeam } from './start-cluster-api.js';

/** A pool on the team's servers. */
export const own = (maximum: number, more: Partial<NodePoolSpec> = {}) =>
  aPool({ name: 'own', source: 'pooled', machineType: 'cx22', minimum: 0, maximum, ...more });

/** A managed pool, which every cluster needs, and these. */
export const withOwn = (...pools: NodePoolSpec[]) => ({ nodePools: [aPool(), ...pools] });

/** Calls of a member about clusters and their pools. The default cluster is `web`. */
export function poolCalls({ api }: TestClusterApi, { member, path }: TestTeam) {
  const clusterPath = (name = 'web', rest = '') => path(`/clusters/${name}/${rest}`);
  return {
    clusterPath,
    put: (spec: object, name = 'web', query = '') =>
      api
        .as(member)
        .put(`${clusterPath(name)}${query}`)
        .send({ spec }),
    putPool: (pool: NodePoolSpec, { cluster = 'web', query = '' } = {}) =>
      api
        .as(member)
        .put(`${clusterPath(cluster, `node-pools/${pool.name}/`)}${query}`)
        .send({ spec: pool }),
    getPool: (pool = 'own') => api.as(member).get(clusterPath('web', `node-pools/${pool}/`)),
    removePool: (pool = 'own') => api.as(member).delete(clusterPath('web', `node-pools/${pool}/`)),
  };
}
export type PoolCalls = ReturnType<typeof poolCalls>;
