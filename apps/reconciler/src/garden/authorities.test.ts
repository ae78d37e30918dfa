import { GardenError } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import { authorities } from './authorities.js';

const { signal } = new AbortController();
const aShoot = (uid: string, rotation: string | null = null) => ({ namespace: 'garden-a', name: 'c1', uid, rotation });

/** A garden that gives one answer after the other and repeats the last one. */
function aGarden(...answers: (string | null | Error)[]) {
  let reads = 0;
  return {
    reads: () => reads,
    async readAuthority() {
      const answer = answers[Math.min(reads, answers.length - 1)] ?? null;
      reads += 1;
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
}

const encoded = (pem: string): string => Buffer.from(pem).toString('base64');

describe('certificate authorities of Shoots', () => {
  it('are read once, and returned in base64 as in kubeconfigs', async () => {
    const garden = aGarden('PEM');
    const all = authorities(garden, 10);

    const [first, second] = [await all.read(aShoot('u1'), signal), await all.read(aShoot('u1'), signal)];

    expect([first, second, garden.reads()]).toEqual([encoded('PEM'), encoded('PEM'), 1]);
  });

  it('are read again after rotation progress, and for another Shoot', async () => {
    const garden = aGarden('one', 'both', 'other');
    const all = authorities(garden, 10);
    await all.read(aShoot('u1'), signal);

    expect(await all.read(aShoot('u1', 'Prepared'), signal)).toBe(encoded('both'));
    expect(await all.read(aShoot('u2'), signal)).toBe(encoded('other'));
  });

  it('are read again while there is none, and after a failure', async () => {
    const all = authorities(aGarden(null, new GardenError('unreachable', 'away'), 'PEM'), 10);

    expect(await all.read(aShoot('u1'), signal)).toBeNull();
    await expect(all.read(aShoot('u1'), signal)).rejects.toThrow(GardenError);
    expect(await all.read(aShoot('u1'), signal)).toBe(encoded('PEM'));
  });

  it('are cached up to the maximum number of Shoots', async () => {
    const garden = aGarden('PEM');
    const all = authorities(garden, 2);
    for (const uid of ['u1', 'u2', 'u3']) await all.read(aShoot(uid), signal);

    await all.read(aShoot('u3'), signal);
    expect(garden.reads()).toBe(3);
    await all.read(aShoot('u1'), signal);
    expect(garden.reads()).toBe(4);
  });
});
