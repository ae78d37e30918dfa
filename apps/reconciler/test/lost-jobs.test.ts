import { jobs, type QueueName } from '@corral/queue';
import { describe, expect, it } from '@jest/globals';

/** A process without a garden serves neither `clusters` nor `upkeep`, and one without encryption keys not `servers`. */
const servedTogether: readonly (readonly QueueName[])[] = [['clusters', 'upkeep'], ['servers']];

describe('a row whose job was lost', () => {
  it.each(['reconcile-cluster', 'reconcile-server'] as const)('is found for %s by who can work on it', (name) => {
    const { queue, foundBy } = jobs[name];

    expect(servedTogether).toContainEqual(expect.arrayContaining([queue, jobs[foundBy].queue]));
  });
});
