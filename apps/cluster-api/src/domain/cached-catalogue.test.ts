import { beforeEach, describe, expect, it } from '@jest/globals';
import { aCatalogue } from '../../test/support/a-cluster.js';
import { type Catalogue, cachedCatalogue } from './cached-catalogue.js';

describe('the catalogue at hand', () => {
  let now: number;
  let random: number;
  let reads: number;
  let isAway: boolean;
  let errors: unknown[];
  let catalogue: Catalogue;
  const nameAtHand = async () => (await catalogue.atHand()).profile?.name;

  beforeEach(() => {
    [now, random, reads, isAway, errors] = [1_000_000, 1, 0, false, []];
    catalogue = cachedCatalogue({
      async read() {
        reads += 1;
        if (isAway) throw new Error('away');
        return aCatalogue({ name: `read ${reads}` });
      },
      now: () => now,
      random: () => random,
      onReadError: (error) => errors.push(error),
    });
  });

  it('is read once for all who ask at the same time', async () => {
    const [one, other] = await Promise.all([catalogue.atHand(), catalogue.atHand()]);

    expect([one, reads]).toEqual([other, 1]);
  });

  it('is kept for a minute', async () => {
    await catalogue.atHand();

    now += 59_999;
    expect(await nameAtHand()).toBe('read 1');
    now += 1;
    expect(await nameAtHand()).toBe('read 2');
  });

  it('is the last one while the garden is away, which is left alone for a moment', async () => {
    await catalogue.atHand();
    isAway = true;
    now += 3_600_000;

    expect([await nameAtHand(), await nameAtHand(), reads]).toEqual(['read 1', 'read 1', 2]);
    expect(errors).toHaveLength(1);

    now += 2_000;
    isAway = false;
    expect(await nameAtHand()).toBe('read 3');
  });

  it('is not there as long as it was never read, and says when to come again', async () => {
    isAway = true;
    const { profile, problem } = await catalogue.atHand();

    expect([profile, problem?.code, problem?.retryAfterSeconds]).toEqual([null, 'upstream_unavailable', 2]);
    now += 1_500;
    expect((await catalogue.atHand()).problem?.retryAfterSeconds).toBe(1);
    expect(reads).toBe(1);
  });

  it('is asked for after delays that grow up to a minute, and is soon there again after one success', async () => {
    isAway = true;
    const delays: number[] = [];
    for (let failure = 0; failure < 8; failure += 1) {
      await catalogue.atHand();
      const [before, since] = [reads, now];
      while (reads === before) {
        now += 500;
        await catalogue.atHand();
      }
      delays.push(now - since);
    }
    expect(delays).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);

    isAway = false;
    now += 60_000;
    await catalogue.atHand();
    isAway = true;
    now += 60_000;
    await catalogue.atHand();
    const before = reads;
    now += 2_000;
    await catalogue.atHand();
    expect(reads).toBe(before + 1);
  });

  it('is asked for by replicas at different times, each of them after half of the delay at least', async () => {
    isAway = true;
    random = 0;
    await catalogue.atHand();

    now += 999;
    await catalogue.atHand();
    expect(reads).toBe(1);
    now += 1;
    await catalogue.atHand();
    expect(reads).toBe(2);
  });
});
