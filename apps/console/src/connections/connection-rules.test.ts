import type { Cluster, Operation } from '@corral/contracts';
import { describe, expect, test } from '@jest/globals';
import { clustersUsing, lastVerification, storyOf } from './connection-rules.js';

const operation = (of: object): Operation => of as Operation;

describe('a connection', () => {
  test('is used by the clusters that name it', () => {
    const clusters = ['main', 'other', 'main'].map((connectionRef) => ({ spec: { connectionRef } }) as Cluster);
    expect(clustersUsing(clusters, 'main')).toHaveLength(2);
  });

  test('has the newest verification of its own', () => {
    const [verify, updatedAt] = ['connection.verify', '2026-11-23T12:00:00Z'];
    const operations = [
      operation({ id: '1', kind: 'server.adopt', target: { id: 'c' }, updatedAt }),
      operation({ id: '2', kind: verify, target: { id: 'c' }, state: 'succeeded', updatedAt }),
      operation({ id: '3', kind: verify, target: { id: 'c' }, state: 'succeeded', updatedAt }),
    ];

    expect(lastVerification(operations, { id: 'c', updatedAt })?.id).toBe('2');
    expect(lastVerification(operations, { id: 'd', updatedAt })).toBeUndefined();
  });

  test('with another token is not verified by what was said about the former one', () => {
    const before = { kind: 'connection.verify', target: { id: 'c' }, updatedAt: '2026-11-23T12:00:00Z' };
    const changed = { id: 'c', updatedAt: '2026-11-23T12:00:01Z' };

    expect(lastVerification([operation({ ...before, state: 'succeeded' })], changed)).toBeUndefined();
    expect(lastVerification([operation({ ...before, state: 'running' })], changed)).toBeDefined();
  });
});

describe('the story of an operation', () => {
  test.each([
    [{ state: 'failed', error: { message: 'No.', hint: 'Do it.' }, waiting: null }, 'No. Do it.'],
    [{ state: 'running', error: {}, waiting: { message: 'Waits.' } }, 'Waits.'],
    [{ state: 'running', error: {}, waiting: null }, null],
    [{ state: 'succeeded', error: {}, waiting: { message: 'Waited.' } }, null],
  ])('of %j is %j', (of, story) => {
    expect(storyOf(operation(of))).toBe(story);
  });
});
