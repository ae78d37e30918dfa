import { describe, expect, it } from '@jest/globals';
import { type Answer, type Belief, learn } from '../../support/cluster-crashes/belief.js';
import type { Wish } from '../../support/cluster-crashes/steps.js';

describe('the conclusions of the only client of a cluster', () => {
  const surroundings = { name: 'web', connectionRef: 'main', region: 'hel1' };
  const pool = { name: 'general', machineType: 'cx22', minimum: 0, maximum: 3 };
  const declare: Wish = {
    kind: 'declare',
    spec: { controlPlaneHA: false, plan: 'payg', kubernetesVersion: '1.33' },
    pools: [pool],
  };
  const answer = (status: number, changes: Partial<Answer> = {}): Answer => ({
    status,
    tries: 1,
    code: undefined,
    ...changes,
  });
  const absent: Belief = { kind: 'absent' };
  const { belief: present } = learn(absent, declare, answer(202), surroundings);
  const full = { source: 'managed', image: {}, publicIP: true };

  it('knows the whole specification that it declared', () => {
    expect(present).toEqual({
      kind: 'present',
      spec: {
        connectionRef: 'main',
        region: 'hel1',
        kubernetesVersion: '1.33',
        hibernated: false,
        controlPlaneHA: false,
        plan: 'payg',
        deletionProtection: false,
        network: { nodeCIDR: '10.250.0.0/16', podCIDR: '10.244.0.0/16', serviceCIDR: '10.96.0.0/16' },
        nodePools: [{ ...pool, ...full }],
      },
    });
  });

  const removePool: Wish = { kind: 'removePool', name: 'general' };
  const remove: Wish = { kind: 'remove' };
  it.each<[string, Belief, Wish, Answer]>([
    ['a cluster that is lost', present, { kind: 'resume' }, answer(404)],
    ['a cluster that is lost without a deletion', present, remove, answer(404)],
    ['a pool that is lost', present, removePool, answer(404)],
  ])('reports %s', (_case, before, wish, answered) => {
    expect(learn(before, wish, answered, surroundings).problem).toMatch(/^web was/);
  });
});
