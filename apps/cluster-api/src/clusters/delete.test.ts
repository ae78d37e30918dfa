import { describe, expect, it } from '@jest/globals';
import { aCluster, aClusterSpec, aPool } from '../../test/support/a-cluster.js';
import { deletionPreview } from './delete.js';

const twoPools = aClusterSpec({
  nodePools: [aPool({ minimum: 0, maximum: 3 }), aPool({ name: 'fixed', minimum: 2, maximum: 2 })],
});

describe('the preview of a deletion', () => {
  it('lists nodes per pool, and volumes and load balancers without a count', () => {
    expect(deletionPreview(aCluster({ spec: twoPools })).map(({ kind, name, count }) => [kind, name, count])).toEqual([
      ['Node', 'general', null],
      ['Node', 'fixed', 2],
      ['Volume', null, null],
      ['LoadBalancer', null, null],
    ]);
  });

  it('counts no managed nodes of a hibernated cluster', () => {
    const hibernated = aCluster({ spec: { ...twoPools, hibernated: true } });

    expect(
      deletionPreview(hibernated)
        .slice(0, 2)
        .map(({ count }) => count),
    ).toEqual([0, 0]);
  });

  it('counts adopted servers even of a hibernated cluster, and says that they stay adopted', () => {
    const nodePools = [aPool(), aPool({ name: 'own', source: 'pooled', minimum: 1, maximum: 3 })];
    const [, own] = deletionPreview(aCluster({ spec: aClusterSpec({ nodePools, hibernated: true }) }));

    expect(own).toEqual({ kind: 'Node', name: 'own', count: 3, note: expect.stringContaining('stay adopted') });
  });

  it('says that dedicated machines must be wiped by their owner', () => {
    const nodePools = [aPool(), aPool({ name: 'own', source: 'dedicated', minimum: 2, maximum: 2 })];
    const [, own] = deletionPreview(aCluster({ spec: aClusterSpec({ nodePools }) }));

    expect(own).toMatchObject({ count: 2, note: expect.stringContaining('wiped by their owner') });
  });

  it('is empty for a cluster that was never started', () => {
    expect(deletionPreview(aCluster({ startedAt: null }))).toEqual([]);
  });
});
