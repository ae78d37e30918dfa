import { describe, expect, it } from '@jest/globals';
import { type Told as Answered, type Belief, learn } from '../../support/cluster-crashes/belief.js';
import type { Wish } from '../../support/cluster-crashes/steps.js';

describe('the conclusions of the only client of a cluster', () => {
  const surroundings = { name: 'web', connectionRef: 'main', region: 'hel1' };
  const pool = { name: 'general', machineType: 'cx22', minimum: 0, maximum: 3 };
  const declare: Wish = {
    kind: 'declare',
    spec: { controlPlaneHA: false, plan: 'payg', kubernetesVersion: '1.33' },
    pools: [pool],
  };
  const told = (status: number, changes: Partial<Answered> = {}): Answered => ({
    status,
    tries: 1,
    code: undefined,
    ...changes,
  });
  const resent = { tries: 2 };
  const absent: Belief = { kind: 'absent' };
  const leaving: Belief = { kind: 'leaving' };
  const { belief: present } = learn(absent, declare, told(202), surroundings);
  const change = (changes: object): Belief => ({ ...present, spec: { ...specOf(present), ...changes } }) as Belief;
  const specOf = (belief: Belief) => (belief.kind === 'present' ? belief.spec : {});
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
        network: { nodeCIDR: '10.250.0.0/16', podCIDR: '10.244.0.0/16', serviceCIDR: '10.96.0.0/16' },
        nodePools: [{ ...pool, ...full }],
      },
    });
  });

  const putPool: Extract<Wish, { kind: 'putPool' }> = { kind: 'putPool', pool: { ...pool, name: 'batch' } };
  const removePool: Wish = { kind: 'removePool', name: 'general' };
  const remove: Wish = { kind: 'remove' };
  it.each<[string, Belief, Wish, Answered, Belief]>([
    ['a declaration that was refused', absent, declare, told(422), absent],
    ['a declaration that was accepted before it was repeated', absent, declare, told(200, resent), present],
    [
      'a declaration of a hibernated cluster keeps it hibernated',
      change({ hibernated: true }),
      declare,
      told(202),
      change({ hibernated: true }),
    ],
    [
      'one pool more',
      present,
      putPool,
      told(201),
      change({ nodePools: [pool, putPool.pool].map((each) => ({ ...each, ...full })) }),
    ],
    ['one pool less', present, removePool, told(204), change({ nodePools: [] })],
    ['one pool less, as the second answer shows', present, removePool, told(404, resent), change({ nodePools: [] })],
    ['the last pool', present, removePool, told(422), present],
    ['asleep', present, { kind: 'hibernate' }, told(202), change({ hibernated: true })],
    ['not hibernated yet', present, { kind: 'hibernate' }, told(409), present],
    ['being deleted', present, remove, told(202), leaving],
    ['being deleted, as the second answer shows', present, remove, told(409, { code: 'cluster_deleting' }), leaving],
    ['deleted immediately', present, remove, told(204), absent],
    ['deleted, as the second answer shows', present, remove, told(404, resent), absent],
    ['still being deleted', leaving, declare, told(409), leaving],
    ['perhaps still being deleted', leaving, removePool, told(404), leaving],
    ['deleted in the end', leaving, { kind: 'resume' }, told(404), absent],
    ['created again', leaving, declare, told(202), present],
  ])('%s', (_case, before, wish, answered, after) => {
    expect(learn(before, wish, answered, surroundings)).toEqual({ belief: after });
  });

  it.each<[string, Belief, Wish, Answered]>([
    ['a cluster that is lost', present, { kind: 'resume' }, told(404)],
    ['a cluster that is lost without a deletion', present, remove, told(404)],
    ['a pool that is lost', present, removePool, told(404)],
    ['a cluster that was never created', absent, { kind: 'hibernate' }, told(200)],
    ['a specification that was never declared', absent, declare, told(200)],
    ['a cluster that came back', leaving, putPool, told(201)],
  ])('reports %s', (_case, before, wish, answered) => {
    expect(learn(before, wish, answered, surroundings).problem).toMatch(/^web was/);
  });
});
