import type { ClusterSpec } from '@corral/contracts';
import { describe, expect, test } from '@jest/globals';
import { differencesOf, mergedSpec } from './three-way.js';

const pool = (name: string, maximum: number) => ({ name, maximum });
const spec = (values: object): ClusterSpec =>
  ({
    kubernetesVersion: '1.33.7',
    plan: 'payg',
    network: { podCIDR: '10.244.0.0/16' },
    nodePools: [pool('general', 3)],
    ...values,
  }) as unknown as ClusterSpec;
const began = spec({});

describe('a change of two people', () => {
  test('keeps yours and takes over theirs when they changed different fields', () => {
    const now = spec({ plan: 'annual', nodePools: [pool('general', 3), pool('burst', 2)] });
    const yours = spec({ kubernetesVersion: '1.34.3' });
    const differences = differencesOf(began, now, yours);
    expect(differences.map(({ field, by }) => [field, by])).toEqual([
      ['kubernetesVersion', 'you'],
      ['plan', 'them'],
      ['nodePools.burst', 'them'],
    ]);
    expect(mergedSpec(now, differences, {})).toEqual(
      spec({ kubernetesVersion: '1.34.3', plan: 'annual', nodePools: [pool('general', 3), pool('burst', 2)] }),
    );
  });

  test('waits for a choice where both changed the same field', () => {
    const now = spec({ nodePools: [pool('general', 5)] });
    const differences = differencesOf(began, now, spec({ nodePools: [pool('general', 4)] }));
    expect(differences).toMatchObject([{ field: 'nodePools.general', by: 'both' }]);
    expect(mergedSpec(now, differences, {})).toBeNull();
    expect(mergedSpec(now, differences, { 'nodePools.general': 'now' })).toEqual(now);
    expect(mergedSpec(now, differences, { 'nodePools.general': 'yours' })).toEqual(
      spec({ nodePools: [pool('general', 4)] }),
    );
  });

  test('matches pools by name, whatever their order', () => {
    const [two, reversed] = [
      spec({ nodePools: [pool('a', 1), pool('b', 2)] }),
      spec({ nodePools: [pool('b', 2), pool('a', 1)] }),
    ];
    expect(differencesOf(two, two, reversed)).toEqual([]);
  });

  test('removes a pool that you removed and they left alone', () => {
    const now = spec({ plan: 'annual' });
    const differences = differencesOf(began, now, spec({ nodePools: [] }));
    expect(mergedSpec(now, differences, {})).toEqual(spec({ plan: 'annual', nodePools: [] }));
  });

  test('a field that you left out stays as it was', () => {
    expect(differencesOf(began, began, { kubernetesVersion: '1.33.7' })).toEqual([]);
  });
});
