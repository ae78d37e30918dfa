import { CorralError } from '@corral/client';
import { describe, expect, test } from '@jest/globals';
import { applyPlan, isSame, type Plan, type PlanDeps } from './plan.js';

const target = { team: 'acme', name: 'web' };
const began = { plan: 'payg', region: 'hel1' };
const clusterWith = (spec: unknown, etag: string) => ({ metadata: { etag }, spec, status: { lastOperation: null } });
const wanted = { plan: 'annual', region: 'hel1' };
const answerWith = (to: unknown) => ({
  changes: [{ pointer: '/spec/plan', from: 'payg', to }],
  costDifference: null,
  resource: { spec: wanted },
});
const plan = { spec: { plan: 'annual' }, etag: 'one', answer: answerWith('annual') } as unknown as Plan;
const begun = { spec: began as never, mayBeAccepted: false };
const changedMeanwhile = () => new CorralError({ status: 412, code: 'precondition_failed', detail: 'It changed.' });
const lostAnswer = () => new CorralError({ status: 0, code: 'network', detail: 'No answer.' });

/** An API at which the entity tag moved to `two`. */
function apiWith(spec: unknown, planned: unknown) {
  const applied: (string | null)[] = [];
  const deps = {
    put: async (_target: unknown, _spec: unknown, etag: string | null, purpose: 'plan' | 'apply') => {
      if (purpose === 'plan') return { body: planned };
      applied.push(etag);
      if (etag !== 'two') throw changedMeanwhile();
      return { body: { operation: { id: 'op' }, resource: clusterWith(spec, 'three') } };
    },
    get: async () => clusterWith(spec, 'two'),
  } as unknown as PlanDeps;
  return { deps, applied };
}

/** An API that loses the answer of the first request; the change is performed or not. */
function losingApi({ performs, before }: { readonly performs: boolean; readonly before: unknown }) {
  const applied: (string | null)[] = [];
  let spec = before;
  const deps = {
    put: async (_target: unknown, _spec: unknown, etag: string | null, purpose: 'plan' | 'apply') => {
      if (purpose === 'plan') return { body: answerWith('annual') };
      applied.push(etag);
      if (applied.length === 1) {
        if (performs) spec = wanted;
        throw lostAnswer();
      }
      return { body: { operation: { id: 'second' }, resource: clusterWith(wanted, 'three') } };
    },
    get: async () => {
      if (spec === null) throw new CorralError({ status: 404, code: 'not_found', detail: 'None.' });
      return { ...clusterWith(spec, 'two'), status: { lastOperation: { id: 'first' } } };
    },
  } as unknown as PlanDeps;
  return { deps, applied };
}

describe('applying a plan', () => {
  test('sends it again when only the status of the cluster has changed', async () => {
    const { deps, applied } = apiWith({ region: 'hel1', plan: 'payg' }, answerWith('annual'));
    expect(await applyPlan(target, plan, begun, deps)).toMatchObject({ kind: 'applied', operationId: 'op' });
    expect(applied).toEqual(['one', 'two']);
  });

  test('applies nothing when the same specification would now do something else', async () => {
    const { deps, applied } = apiWith(began, answerWith('monthly'));
    expect(await applyPlan(target, plan, begun, deps)).toMatchObject({ kind: 'plan-changed' });
    expect(applied).toEqual(['one']);
  });

  test('applies nothing when another person changed the specification', async () => {
    const { deps, applied } = apiWith({ plan: 'payg', region: 'fsn1' }, answerWith('annual'));
    expect(await applyPlan(target, plan, begun, deps)).toMatchObject({ kind: 'conflict' });
    expect(applied).toEqual(['one']);
  });

  test('refuses a new cluster when the name was taken meanwhile, even by an equal cluster', async () => {
    const { deps } = apiWith(wanted, answerWith('annual'));
    const applying = applyPlan(target, { ...plan, etag: null }, { spec: null, mayBeAccepted: false }, deps);
    await expect(applying).rejects.toMatchObject({ status: 412 });
  });
});

describe('an attempt whose answer is lost', () => {
  const creation = { plan: { ...plan, etag: null }, began: { spec: null, mayBeAccepted: false } };

  test.each([
    { what: 'a creation', ...creation, before: null },
    { what: 'a change', plan, began: begun, before: began },
  ])('finds $what that was accepted, and does not send it again', async ({ plan: sent, began: from, before }) => {
    const { deps, applied } = losingApi({ performs: true, before });
    expect(await applyPlan(target, sent, from, deps)).toMatchObject({ kind: 'applied', operationId: 'first' });
    expect(applied).toEqual([sent.etag]);
  });

  test.each([
    { what: 'a creation', ...creation, before: null, tags: [null, null] },
    { what: 'a change', plan, began: begun, before: began, tags: ['one', 'two'] },
  ])('sends $what again that did not arrive', async ({ plan: sent, began: from, before, tags }) => {
    const { deps, applied } = losingApi({ performs: false, before });
    expect(await applyPlan(target, sent, from, deps)).toMatchObject({ kind: 'applied', operationId: 'second' });
    expect(applied).toEqual(tags);
  });

  test('leaves it to the next attempt to find the change when the cluster cannot be read either', async () => {
    const { deps } = apiWith(wanted, answerWith('annual'));
    const unreadable = { put: () => Promise.reject(lostAnswer()), get: () => Promise.reject(lostAnswer()) };
    await expect(applyPlan(target, creation.plan, creation.began, unreadable)).rejects.toMatchObject({ status: 0 });
    expect(await applyPlan(target, creation.plan, { spec: null, mayBeAccepted: true }, deps)).toMatchObject({
      kind: 'applied',
    });
  });
});

test('equal values need not have the same order of members', () => {
  expect(isSame({ a: 1, b: [{ c: 2, d: 3 }] }, { b: [{ d: 3, c: 2 }], a: 1 })).toBe(true);
  expect(isSame([1, 2], [2, 1])).toBe(false);
});
