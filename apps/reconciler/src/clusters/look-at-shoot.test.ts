import type { Shoot } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import { aShoot, aSteadyDesired, noon } from '../../test/support/a-cluster.js';
import { reportedShoots } from '../garden/reported-shoots.js';
import { lookAtShoot } from './look-at-shoot.js';
import type { Desired } from './model.js';

const steady = (observedVersion: string | null = '10') =>
  aSteadyDesired({ namespace: 'garden-acme', shootName: 'c1', known: { observedVersion } });
const changed = { ...steady(), desiredHash: 'sha256:other', generation: steady().generation + 1 };
const shootAt = (resourceVersion: string, more: Partial<Shoot['metadata']> = {}): Shoot => {
  const shoot = aShoot(steady());
  return { ...shoot, metadata: { ...shoot.metadata, resourceVersion, ...more } };
};

/** @returns the version that the pass decides on, `reported` or `read` */
async function look(wanted: Desired, reported: Shoot | null, hold: { id: string } | null = null): Promise<string> {
  const shoots = reportedShoots();
  if (reported !== null) shoots.note(reported);
  const garden = { readShoot: async () => shootAt('99') };
  const { seen, isReported } = await lookAtShoot(
    { garden, reported: shoots },
    { wanted, now: noon, hold },
    new AbortController().signal,
  );
  expect(seen).toMatchObject({ shoot: { metadata: { resourceVersion: isReported ? expect.any(String) : '99' } } });
  return isReported ? 'reported' : 'read';
}

describe('a pass', () => {
  it.each([
    ['reads a Shoot of which nothing was reported', steady(), null, 'read'],
    ['uses a report that is later than what the last pass has seen', steady(), shootAt('11'), 'reported'],
    ['reads a Shoot whose report the last pass has seen', steady(), shootAt('10'), 'read'],
    ['reads a Shoot of which the last pass has seen a later state', steady(), shootAt('9'), 'read'],
    ['reads a Shoot whose versions have no known order', steady('x'), shootAt('y'), 'read'],
    ['reads the first time', steady(null), shootAt('11'), 'read'],
    ['uses any report for an apply, which names its version', changed, shootAt('10'), 'reported'],
    ['reads another Shoot of that name', steady(), shootAt('11', { uid: 'other' }), 'read'],
    ['reads a Shoot whose UID is not known', without(steady()), shootAt('11'), 'read'],
  ] as const)('%s', async (_name, wanted, reported, expected) => {
    expect(await look(wanted, reported)).toBe(expected);
  });

  it('reads during a hold, because operators rely on what it finds', async () => {
    expect(await look(changed, shootAt('11'), { id: 'h1' })).toBe('read');
  });
});

function without(desired: Desired): Desired {
  return { ...desired, known: { ...desired.known, shootUid: null } };
}
