import { conditionTypes, operationKinds } from '@corral/contracts';
import { describe, expect, test } from '@jest/globals';
import { conditionNameOf, conditionText, didOf, doing, type Health, healthOf } from './words.js';

test('every operation has words', () => {
  for (const kind of operationKinds) expect(`${doing[kind]} ${didOf(kind)}`).not.toMatch(/[._]/);
});

describe('a condition', () => {
  test.each<[string, 'True' | 'False' | 'Unknown', string, Health]>([
    ['NodesReady', 'True', 'Seen', 'well'],
    ['NodesReady', 'False', 'Seen', 'ill'],
    ['NodesReady', 'Unknown', 'NotReported', 'unknown'],
    ['NodesReady', 'Unknown', 'Hibernated', 'asleep'],
    ['Drifted', 'True', 'ChangedByOthers', 'ill'],
    ['ShootMissing', 'True', 'RemovedExternally', 'ill'],
  ])('%s that is %s because of %s is %s', (type, status, reason, health) => {
    expect(healthOf({ type, status, reason })).toBe(health);
  });

  test('has a name in words, also one that only the garden knows', () => {
    for (const type of conditionTypes) expect(conditionNameOf(type)).not.toBe(type);
    expect(conditionNameOf('WebhooksAnswer')).toBe('Webhooks answer');
  });

  test('that is not known says so in three words', () => {
    const unknown = { type: 'NodesReady', status: 'Unknown', reason: 'X', message: 'Whether … is unknown.' } as const;
    expect(conditionText(unknown)).toBe('no answer yet');
  });
});
