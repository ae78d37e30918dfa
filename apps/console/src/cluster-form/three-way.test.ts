import type { ClusterSpec } from '@corral/contracts';
import { describe, expect, test } from '@jest/globals';
import { readDocument, textOf } from './spec-document.js';
import { type Choice, differencesOf, type FieldDifference, mergedText } from './three-way.js';

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

const mergedSpec = (
  yours: unknown,
  differences: readonly FieldDifference[],
  choices: Readonly<Record<string, Choice>> = {},
) => {
  const text = mergedText(textOf(yours), differences, choices);
  return text === null ? null : readDocument(text).spec;
};

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
    expect(mergedSpec(yours, differences)).toEqual(
      spec({ kubernetesVersion: '1.34.3', plan: 'annual', nodePools: [pool('general', 3), pool('burst', 2)] }),
    );
  });

  test('waits for a choice where both changed the same field', () => {
    const now = spec({ nodePools: [pool('general', 5)] });
    const yours = spec({ nodePools: [pool('general', 4)] });
    const differences = differencesOf(began, now, yours);
    expect(differences).toMatchObject([{ field: 'nodePools.general.maximum', by: 'both' }]);
    expect(mergedSpec(yours, differences)).toBeNull();
    expect(mergedSpec(yours, differences, { 'nodePools.general.maximum': 'now' })).toEqual(now);
    expect(mergedSpec(yours, differences, { 'nodePools.general.maximum': 'yours' })).toEqual(
      spec({ nodePools: [pool('general', 4)] }),
    );
  });

  test('takes over what they alone changed in a pool of which you changed another field', () => {
    const of = (machineType: string, maximum: number) =>
      spec({ nodePools: [{ name: 'general', machineType, maximum }] });
    const differences = differencesOf(of('cpx31', 5), of('cpx51', 7), of('cpx41', 5));
    expect(differences.map(({ field, by }) => [field, by])).toEqual([
      ['nodePools.general.machineType', 'both'],
      ['nodePools.general.maximum', 'them'],
    ]);
    const choices = { 'nodePools.general.machineType': 'yours' } as const;
    expect(mergedSpec(of('cpx41', 5), differences, choices)).toEqual(of('cpx41', 7));
  });

  test('asks which pool stands when one of them removed it and the other changed it', () => {
    const differences = differencesOf(began, spec({ nodePools: [] }), spec({ nodePools: [pool('general', 4)] }));
    expect(differences).toMatchObject([{ field: 'nodePools.general', by: 'both', now: undefined }]);
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
    const yours = spec({ nodePools: [] });
    expect(mergedSpec(yours, differencesOf(began, now, yours))).toEqual(spec({ plan: 'annual', nodePools: [] }));
  });

  test('a field that you left out stays as it was', () => {
    expect(differencesOf(began, began, { kubernetesVersion: '1.33.7' })).toEqual([]);
  });

  test('keeps your comments, and your pools where you wrote them', () => {
    const yours = `spec:
  kubernetesVersion: 1.34.3 # tested on Monday
  plan: payg
  nodePools:
    - name: night
      maximum: 1
    # for the shop
    - name: general
      maximum: 3
`;
    const pools = [pool('general', 3), pool('night', 1)];
    const now = spec({ plan: 'annual', nodePools: [...pools, pool('burst', 2)] });
    const differences = differencesOf(spec({ nodePools: pools }), now, readDocument(yours).spec ?? {});
    expect(mergedText(yours, differences, {})).toBe(
      `${yours.replace('payg', 'annual')}    - name: burst\n      maximum: 2\n`,
    );
  });
});
