import { describe, expect, it } from '@jest/globals';
import { aCluster, aClusterSpec, aPool } from '../../test/support/a-cluster.js';
import { costOf } from './cost.js';
import { deletionPreview } from './deletion-preview.js';

const spec = aClusterSpec({
  nodePools: [aPool({ minimum: 0, maximum: 3 }), aPool({ name: 'fixed', minimum: 2, maximum: 2 })],
});

describe('the cost of a cluster', () => {
  it('counts one node at least wherever there may be any, because the garden keeps one', () => {
    expect(costOf(spec).items.map(({ name, minimum, maximum }) => [name, minimum, maximum])).toEqual([
      ['general', 1, 3],
      ['fixed', 2, 2],
    ]);
  });

  it('of a hibernated cluster counts no nodes', () => {
    expect(costOf({ ...spec, hibernated: true }).items.map(({ maximum }) => maximum)).toEqual([0, 0]);
  });

  it('without a price list is not known, and says why', () => {
    expect(costOf(spec)).toMatchObject({
      ...{ currency: null, pricedAt: null, hourly: { minimum: null, maximum: null } },
      items: [{ monthly: { minimum: null, maximum: null }, reason: 'There is no price list.' }, {}],
    });
  });
});

describe('what goes with a cluster', () => {
  it('are its nodes, and volumes and load balancers that nobody has counted', () => {
    expect(deletionPreview(aCluster({ spec })).map(({ kind, name, count }) => [kind, name, count])).toEqual([
      ['Node', 'general', null],
      ['Node', 'fixed', 2],
      ['Volume', null, null],
      ['LoadBalancer', null, null],
    ]);
  });

  it('are no nodes when it is hibernated', () => {
    const hibernated = aCluster({ spec: { ...spec, hibernated: true } });

    expect(
      deletionPreview(hibernated)
        .slice(0, 2)
        .map(({ count }) => count),
    ).toEqual([0, 0]);
  });

  it('is nothing before it was started', () => {
    expect(deletionPreview(aCluster({ startedAt: null }))).toEqual([]);
  });
});
