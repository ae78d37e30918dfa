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
    const operations = [
      operation({ id: '1', kind: 'server.adopt', target: { id: 'c' } }),
      operation({ id: '2', kind: 'connection.verify', target: { id: 'c' } }),
      operation({ id: '3', kind: 'connection.verify', target: { id: 'c' } }),
    ];

    expect(lastVerification(operations, 'c')?.id).toBe('2');
    expect(lastVerification(operations, 'd')).toBeUndefined();
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
