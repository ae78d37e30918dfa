import { describe, expect, it } from '@jest/globals';
import type { Request, Response } from 'express';
import { type Buckets, memoryBuckets } from './buckets.js';
import { type CallerLimit, chargeSheet } from './caller-limiter.js';

const limitOf = (name: string, perMinute: number, key: string | null = 'caller'): CallerLimit => ({
  name,
  perMinute: () => perMinute,
  keyOf: () => key,
  refuse: () => new Error(name),
});
const aResponse = () => ({ locals: {}, setHeader: () => undefined }) as unknown as Response;
const [req, buckets] = [{} as Request, () => memoryBuckets(() => 0)];

/** Buckets of another process. */
function askedBuckets(): Buckets {
  const asked = buckets();
  return {
    take: async (...question) => asked.take(...question),
    giveBack: async (...question) => asked.giveBack(...question),
  };
}

describe('the charges of a request', () => {
  it.each([
    ['of this process', buckets()],
    ['that must be asked', askedBuckets()],
  ])('are a token of each limit, up to the first that has none, from buckets %s', async (_which, from) => {
    const sheet = chargeSheet(from, [limitOf('wide', 2), limitOf('narrow', 1)]);
    const chargesOf = async () => {
      const res = aResponse();
      const refused = await sheet.charge(req, res);
      return [sheet.chargesOf(res).map(({ bucket, taken }) => [bucket, taken.remaining]), refused?.bucket ?? null];
    };

    const [first, second, third] = [await chargesOf(), await chargesOf(), await chargesOf()];

    const wide = 'wide:caller';
    const narrow = 'narrow:caller';
    expect(first).toEqual([
      [
        [wide, 1],
        [narrow, 0],
      ],
      null,
    ]);
    expect(second).toEqual([[[wide, 0]], narrow]);
    expect(third).toEqual([[], wide]);
  });

  it('leave alone the limits that do not concern it', async () => {
    const sheet = chargeSheet(buckets(), [limitOf('other', 1, null), limitOf('mine', 1)]);
    const res = aResponse();

    expect(await sheet.charge(req, res)).toBeNull();

    expect(sheet.chargesOf(res).map(({ bucket }) => bucket)).toEqual(['mine:caller']);
  });

  it('are tokens that flow in within the patience, and say when', async () => {
    const sheet = chargeSheet(buckets(), [limitOf('slow', 3)], 40_000);
    const waits: (number | undefined)[] = [];
    let refused = null;
    for (let time = 0; time < 6; time += 1) {
      const res = aResponse();
      refused = await sheet.charge(req, res);
      waits.push(sheet.chargesOf(res)[0]?.taken.waitMs);
    }

    expect(waits).toEqual([0, 0, 0, 20_000, 40_000, undefined]);
    expect(refused?.taken.retryInMs).toBe(60_000);
  });

  it('are given back once', async () => {
    const sheet = chargeSheet(buckets(), [limitOf('mine', 1)]);
    const res = aResponse();
    await sheet.charge(req, res);

    sheet.takeBack(res);
    sheet.takeBack(res);

    expect(await sheet.charge(req, aResponse())).toBeNull();
    expect((await sheet.charge(req, aResponse()))?.bucket).toBe('mine:caller');
  });
});
