import { beforeEach, describe, expect, it } from '@jest/globals';
import { aCatalogue } from '../../test/support/a-cluster.js';
import { type Catalogue, cachedCatalogue } from './cached-catalogue.js';

describe('the catalogue at hand', () => {
  let now: number;
  let reads: number;
  let isAway: boolean;
  let errors: unknown[];
  let catalogue: Catalogue;

  beforeEach(() => {
    [now, reads, isAway, errors] = [1_000_000, 0, false, []];
    catalogue = cachedCatalogue({
      async read() {
        reads += 1;
        if (isAway) throw new Error('away');
        return aCatalogue({ name: `read ${reads}` });
      },
      now: () => now,
      onReadError: (error) => errors.push(error),
    });
  });

  it('is read once for all who ask at the same time', async () => {
    const [one, other] = await Promise.all([catalogue.read(), catalogue.read()]);

    expect([one, reads]).toEqual([other, 1]);
  });

  it('is recent for a minute', async () => {
    await catalogue.read();

    now += 59_999;
    expect(catalogue.recent()?.name).toBe('read 1');

    now += 1;
    expect(catalogue.recent()).toBeNull();
    expect((await catalogue.read()).name).toBe('read 2');
  });

  it('is the last one while the garden is away, and the garden is left alone for a moment', async () => {
    await catalogue.read();
    isAway = true;
    now += 3_600_000;

    expect((await catalogue.read()).name).toBe('read 1');
    expect(catalogue.recent()?.name).toBe('read 1');
    expect(errors).toHaveLength(1);

    now += 10_000;
    isAway = false;
    expect(catalogue.recent()).toBeNull();
    expect((await catalogue.read()).name).toBe('read 3');
  });

  it('is not there as long as it was never read', async () => {
    isAway = true;

    await expect(catalogue.read()).rejects.toMatchObject({ code: 'upstream_unavailable', retryAfterSeconds: 10 });
    expect(catalogue.recent()).toBeNull();

    isAway = false;
    expect((await catalogue.read()).name).toBe('read 2');
  });
});
