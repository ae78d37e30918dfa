import { CorralError } from '@corral/client';
import { describe, expect, test } from '@jest/globals';
import { type DeletionDeps, type DeletionPlan, deleteAsPlanned, planDeletion } from './deletion.js';

const target = { team: 'acme', name: 'web' };
const answerWith = (nodes: number) => ({ resource: { spec: {} }, deletes: [{ kind: 'nodes', count: nodes }] });
const plan = { etag: 'one', answer: answerWith(3) } as unknown as DeletionPlan;

/** An API at which the entity tag moved to `two`, with a deletion that loses so many nodes. */
function apiWith(nodes: number) {
  const removed: string[] = [];
  const ofTwo = (etag: string) => {
    if (etag !== 'two') throw new CorralError({ status: 412, code: 'precondition_failed', detail: 'It changed.' });
  };
  const deps = {
    plan: async (_target: unknown, etag: string) => {
      ofTwo(etag);
      return answerWith(nodes);
    },
    remove: async (_target: unknown, etag: string) => {
      removed.push(etag);
      ofTwo(etag);
    },
    get: async () => ({ metadata: { etag: 'two' } }),
  } as unknown as DeletionDeps;
  return { deps, removed };
}

describe('deleting a cluster', () => {
  test('plans again when the status of the cluster moved', async () => {
    expect(await planDeletion(target, 'one', apiWith(3).deps)).toMatchObject({ etag: 'two' });
  });

  test('sends the deletion again while it loses the same', async () => {
    const { deps, removed } = apiWith(3);
    expect(await deleteAsPlanned(target, plan, deps)).toBeNull();
    expect(removed).toEqual(['one', 'two']);
  });

  test('deletes nothing when more would be lost than was shown', async () => {
    const { deps, removed } = apiWith(5);
    expect(await deleteAsPlanned(target, plan, deps)).toMatchObject({ etag: 'two', answer: answerWith(5) });
    expect(removed).toEqual(['one']);
  });
});
