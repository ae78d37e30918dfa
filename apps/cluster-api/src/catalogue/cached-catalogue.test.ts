import { beforeEach, describe, expect, it } from '@jest/globals';
import { aCatalogue } from '../../test/support/a-cluster.js';
import { type Catalogue, cachedCatalogue } from './cached-catalogue.js';

describe('the cached catalogue', () => {
  let now: number;
  let random: number;
  let reads: number;
  let isAway: boolean;
  let errors: unknown[];
  let catalogue: Catalogue;
  const nameNow = async () => (await catalogue.get()).profile?.name;

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

  it('is read once for concurrent callers', async () => {
    const [one, other] = await Promise.all([catalogue.get(), catalogue.get()]);

    expect([one, reads]).toEqual([other, 1]);
  });

  it('is kept for a minute', async () => {
    await catalogue.get();

    now += 59_999;
    expect(await nameNow()).toBe('read 1');
    now += 1;
    expect(await nameNow()).toBe('read 2');
  });

  it('stays in use while the garden is unreachable, and is not requested again immediately', async () => {
    await catalogue.get();
    isAway = true;
    now += 3_600_000;

    expect([await nameNow(), await nameNow(), reads]).toEqual(['read 1', 'read 1', 2]);
    expect(errors).toHaveLength(1);

    now += 2_000;
    isAway = false;
    expect(await nameNow()).toBe('read 3');
  });

  it('is a problem with Retry-After until the first successful read', async () => {
    isAway = true;
    const { profile, problem } = await catalogue.get();

    expect([profile, problem?.code, problem?.retryAfterSeconds]).toEqual([null, 'upstream_unavailable', 2]);
    now += 1_500;
    expect((await catalogue.get()).problem?.retryAfterSeconds).toBe(1);
    expect(reads).toBe(1);
  });

  it('is retried with a delay that grows up to a minute and is reset by a success', async () => {
    isAway = true;
    const delays: number[] = [];
    for (let failure = 0; failure < 8; failure += 1) {
      await catalogue.get();
      const [before, since] = [reads, now];
      while (reads === before) {
        now += 500;
        await catalogue.get();
      }
      delays.push(now - since);
    }
    expect(delays).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);

    isAway = false;
    now += 60_000;
    await catalogue.get();
    isAway = true;
    now += 60_000;
    await catalogue.get();
    const before = reads;
    now += 2_000;
    await catalogue.get();
    expect(reads).toBe(before + 1);
  });

  it('is retried with jitter, but not before half of the delay', async () => {
    isAway = true;
    random = 0;
    await catalogue.get();

    now += 999;
    await catalogue.get();
    expect(reads).toBe(1);
    now += 1;
    await catalogue.get();
    expect(reads).toBe(2);
  });
});
