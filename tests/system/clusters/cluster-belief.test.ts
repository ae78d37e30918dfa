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
  const resent = { tries: 2 };
  const absent: Belief = { kind: 'absent' };
  const leaving: Belief = { kind: 'leaving' };
  const { belief: present } = learn(absent, declare, answer(202), surroundings);
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
        deletionProtection: false,
        network: { nodeCIDR: '10.250.0.0/16', podCIDR: '10.244.0.0/16', serviceCIDR: '10.96.0.0/16' },
        nodePools: [{ ...pool, ...full }],
      },
    });
  });

  const putPool: Extract<Wish, { kind: 'putPool' }> = { kind: 'putPool', pool: { ...pool, name: 'batch' } };
  const removePool: Wish = { kind: 'removePool', name: 'general' };
  const remove: Wish = { kind: 'remove' };
  it.each<[string, Belief, Wish, Answer, Belief]>([
    ['a declaration that was refused', absent, declare, answer(422), absent],
    ['a declaration that was accepted before it was repeated', absent, declare, answer(200, resent), present],
    [
      'a declaration of a hibernated cluster keeps it hibernated',
      change({ hibernated: true }),
      declare,
      answer(202),
      change({ hibernated: true }),
    ],
    [
      'one pool more',
      present,
      putPool,
      answer(201),
      change({ nodePools: [pool, putPool.pool].map((each) => ({ ...each, ...full })) }),
    ],
    ['one pool less', present, removePool, answer(204), change({ nodePools: [] })],
    ['one pool less, as the second answer shows', present, removePool, answer(404, resent), change({ nodePools: [] })],
    ['the last pool', present, removePool, answer(422), present],
    ['asleep', present, { kind: 'hibernate' }, answer(202), change({ hibernated: true })],
    ['not hibernated yet', present, { kind: 'hibernate' }, answer(409), present],
    ['being deleted', present, remove, answer(202), leaving],
    ['being deleted, as the second answer shows', present, remove, answer(409, { code: 'cluster_deleting' }), leaving],
    ['deleted immediately', present, remove, answer(204), absent],
    ['deleted, as the second answer shows', present, remove, answer(404, resent), absent],
    ['still being deleted', leaving, declare, answer(409), leaving],
    ['perhaps still being deleted', leaving, removePool, answer(404), leaving],
    ['deleted in the end', leaving, { kind: 'resume' }, answer(404), absent],
    ['created again', leaving, declare, answer(202), present],
  ])('%s', (_case, before, wish, answered, after) => {
    expect(learn(before, wish, answered, surroundings)).toEqual({ belief: after });
  });

  it.each<[string, Belief, Wish, Answer]>([
    ['a cluster that is lost', present, { kind: 'resume' }, answer(404)],
    ['a cluster that is lost without a deletion', present, remove, answer(404)],
    ['a pool that is lost', present, removePool, answer(404)],
  ])('reports %s', (_case, before, wish, answered) => {
    expect(learn(before, wish, answered, surroundings).problem).toMatch(/^web was/);
  });
});
