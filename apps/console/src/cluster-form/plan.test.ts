import { describe, expect, test } from '@jest/globals';
import { ApiProblem } from '../api/problem.js';
import { applyPlan, isSame, type Plan, type PlanDeps } from './plan.js';

const target = { team: 'acme', name: 'web' };
const began = { plan: 'payg', region: 'hel1' };
const clusterWith = (spec: unknown, etag: string) => ({ metadata: { etag }, spec });
const answerWith = (to: unknown) => ({ changes: [{ pointer: '/spec/plan', from: 'payg', to }], costDifference: null });
const plan = { spec: { plan: 'annual' }, etag: 'one', answer: answerWith('annual') } as unknown as Plan;

/** An API at which the entity tag moved to `two`. */
function apiWith(spec: unknown, planned: unknown) {
  const applied: (string | null)[] = [];
  const deps = {
    put: async (_target: unknown, _spec: unknown, etag: string | null, purpose: 'plan' | 'apply') => {
      if (purpose === 'plan') return { body: planned };
      applied.push(etag);
      if (etag !== 'two') throw new ApiProblem({ status: 412, code: 'precondition_failed', detail: 'It changed.' });
      return { body: { operation: { id: 'op' }, resource: clusterWith(spec, 'three') } };
    },
    get: async () => clusterWith(spec, 'two'),
  } as unknown as PlanDeps;
  return { deps, applied };
}

describe('applying a plan', () => {
  test('sends it again when only the status of the cluster has changed', async () => {
    const { deps, applied } = apiWith({ region: 'hel1', plan: 'payg' }, answerWith('annual'));
    expect(await applyPlan(target, plan, began as never, deps)).toMatchObject({ kind: 'applied', operationId: 'op' });
    expect(applied).toEqual(['one', 'two']);
  });

  test('applies nothing when the same specification would now do something else', async () => {
    const { deps, applied } = apiWith(began, answerWith('monthly'));
    expect(await applyPlan(target, plan, began as never, deps)).toMatchObject({ kind: 'plan-changed' });
    expect(applied).toEqual(['one']);
  });

  test('applies nothing when another person changed the specification', async () => {
    const { deps, applied } = apiWith({ plan: 'payg', region: 'fsn1' }, answerWith('annual'));
    expect(await applyPlan(target, plan, began as never, deps)).toMatchObject({ kind: 'conflict' });
    expect(applied).toEqual(['one']);
  });

  test('refuses a new cluster when the name was taken meanwhile', async () => {
    const { deps } = apiWith(began, answerWith('annual'));
    await expect(applyPlan(target, { ...plan, etag: null }, null, deps)).rejects.toMatchObject({ status: 412 });
  });
});

test('equal values need not have the same order of members', () => {
  expect(isSame({ a: 1, b: [{ c: 2, d: 3 }] }, { b: [{ d: 3, c: 2 }], a: 1 })).toBe(true);
  expect(isSame([1, 2], [2, 1])).toBe(false);
});
