import type { Condition } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { aCluster, aClusterSpec, NOW } from '../../test/support/a-cluster.js';
import { refusalOf } from '../../test/support/refusal.js';
import type { ClusterRecord } from '../clusters/store.js';
import { reachableShoot } from './credentials.js';

const shoot = { namespace: 'garden-acme', name: 'c1c1' };
const controlPlane = (status: Condition['status'], reason = 'Seen'): Pick<ClusterRecord, 'conditions'> => ({
  conditions: [{ type: 'ControlPlaneReady', status, reason, message: '', lastTransitionTime: NOW.toISOString() }],
});

describe('a cluster', () => {
  it.each<[string, Partial<ClusterRecord>]>([
    ['whose control plane answers', controlPlane('True')],
    ['that changes while its control plane answers', { ...controlPlane('True'), phase: 'Updating', generation: 5 }],
    ['whose checks the garden repeats after a change', controlPlane('Unknown')],
  ])('%s has credentials', (_what, more) => {
    expect(reachableShoot(aCluster(more), shoot)).toBe(shoot);
  });

  it.each<[string, Partial<ClusterRecord>, string]>([
    ['that is still being created', {}, 'cluster_not_ready'],
    ['whose control plane does not answer', controlPlane('False'), 'cluster_not_ready'],
    ['that was never reconciled', { ...controlPlane('Unknown'), observedGeneration: 0 }, 'cluster_not_ready'],
    ['that is resuming', controlPlane('Unknown', 'Hibernated'), 'cluster_not_ready'],
    ['that is hibernated', { ...controlPlane('True'), spec: aClusterSpec({ hibernated: true }) }, 'cluster_not_ready'],
    ['that is being deleted', { ...controlPlane('True'), deletionRequestedAt: NOW }, 'cluster_deleting'],
  ])('%s has none', (_what, more, code) => {
    expect(refusalOf(() => reachableShoot(aCluster(more), shoot))).toEqual([code]);
  });

  it('that is not on the garden has none', () => {
    expect(refusalOf(() => reachableShoot(aCluster(controlPlane('True')), null))).toEqual(['cluster_not_ready']);
  });
});
