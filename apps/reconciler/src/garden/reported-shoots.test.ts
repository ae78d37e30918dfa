import { describe, expect, it } from '@jest/globals';
import { aShoot, aSteadyDesired } from '../../test/support/a-cluster.js';
import { isLaterVersion, reportedShoots } from './reported-shoots.js';

describe('a resource version', () => {
  it.each([
    ['10', '9', true],
    ['9', '10', false],
    ['11', '10', true],
    ['10', '10', false],
    ['9007199254740993', '9007199254740992', true],
    ['18446744073709551615', '9', true],
    // A server that does not number them says nothing about their order.
    ['v11', '10', false],
    ['11', 'v10', false],
    ['011', '10', false],
    ['', '10', false],
    ['11', null, false],
  ])('%s is later than %s: %s', (one, other, expected) => {
    expect(isLaterVersion(one, other)).toBe(expected);
  });
});

describe('reported Shoots', () => {
  const shootNamed = (name: string, resourceVersion: string) => {
    const shoot = aShoot(aSteadyDesired({ namespace: 'garden-acme', shootName: name }));
    return { ...shoot, metadata: { ...shoot.metadata, resourceVersion } };
  };
  const versionOf = (name: string, shoots: ReturnType<typeof reportedShoots>, namespace = 'garden-acme') =>
    shoots.find({ namespace, name })?.metadata.resourceVersion;

  it('are those reported last, until they are forgotten', () => {
    const shoots = reportedShoots();
    for (const version of ['1', '2']) shoots.note(shootNamed('c1', version));
    shoots.note(shootNamed('c2', '3'));
    expect([versionOf('c1', shoots), versionOf('c2', shoots), versionOf('c1', shoots, 'garden-other')]).toEqual([
      '2',
      '3',
      undefined,
    ]);

    shoots.forget({ namespace: 'garden-acme', name: 'c1' });

    expect([versionOf('c1', shoots), versionOf('c2', shoots)]).toEqual([undefined, '3']);
  });

  it('are without those that a list does not have', () => {
    const shoots = reportedShoots();
    for (const name of ['c1', 'c2']) shoots.note(shootNamed(name, '1'));

    shoots.keepOnly(new Set(['c2', 'c3']));

    expect([versionOf('c1', shoots), versionOf('c2', shoots)]).toEqual([undefined, '1']);
  });

  it('take bounded memory', () => {
    const shoots = reportedShoots();
    for (let index = 0; index < 2_000; index += 1) shoots.note(shootNamed(`c${index}`, '1'));

    const kept = Array.from({ length: 2_000 }, (_, index) => versionOf(`c${index}`, shoots)).filter(Boolean);

    expect(kept).toHaveLength(500);
    expect(versionOf('c1999', shoots)).toBe('1');
  });
});
