import { randomUUID } from 'node:crypto';
import {
  describeEachNeeding,
  describeNeeding,
  type FlakyProxy,
  missingRedis,
  redisForTests,
  startFlakyProxy,
  waitFor,
} from '@corral/testing';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { memoryBuckets } from '../../src/buckets/buckets.js';
import { type RedisBuckets, redisBuckets } from '../../src/buckets/redis-buckets.js';
import type { BucketRule, Taken } from '../../src/buckets/token-bucket.js';

const server = await redisForTests();

/** So slow that practically nothing flows in during a test. */
const slow: BucketRule = { capacity: 60, periodMs: 36_000_000 };

interface Replica extends RedisBuckets {
  readonly calls: string[][];
  readonly errors: Error[];
  readonly redis: Redis;
}

let key: string;
let direct: Redis;
let proxies: FlakyProxy[];
let replicas: Replica[];

beforeEach(() => {
  if (server === null) return;
  key = `test:${randomUUID()}`;
  direct = new Redis(server.url);
  proxies = [];
  replicas = [];
});
afterEach(async () => {
  if (server === null) return;
  for (const replica of replicas) {
    await replica.close();
    replica.redis.disconnect();
  }
  await Promise.all(proxies.map((proxy) => proxy.close()));
  direct.disconnect();
});
afterAll(() => server?.stop());

async function startReplica({ url = server?.url as string, now = Date.now, timeoutMs = 2_000 } = {}): Promise<Replica> {
  const redis = new Redis(url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, retryStrategy: () => 20 });
  redis.on('error', () => undefined);
  await waitFor('Redis to be ready', () => redis.status === 'ready');
  const calls: string[][] = [];
  const evaluate = redis.eval.bind(redis) as (script: string, count: number, ...rest: string[]) => Promise<unknown>;
  const counting = {
    eval(script: string, count: number, ...rest: string[]) {
      calls.push(rest.slice(0, count));
      return evaluate(script, count, ...rest);
    },
  } as unknown as Redis;
  const errors: Error[] = [];
  const fallback = memoryBuckets(now);
  const onError = (error: Error) => void errors.push(error);
  const buckets = redisBuckets({ redis: counting, fallback, now, onError, timeoutMs });
  const replica = { ...buckets, calls, errors, redis };
  replicas.push(replica);
  return replica;
}

const tokensLeft = async (): Promise<number> => Number(await direct.hget(`corral:limit:${key}`, 'tokens'));
const allowed = (taken: Taken[]): number => taken.filter((each) => each.allowed).length;

async function takeInTurn(replica: Replica, times: number, rule = slow): Promise<Taken[]> {
  const taken: Taken[] = [];
  for (let time = 0; time < times; time += 1) taken.push(await replica.take(key, rule));
  return taken;
}

describeNeeding(describe, missingRedis(), 'buckets on Redis', () => {
  it('never grant more than the rule to two replicas together, and all of it in the end', async () => {
    const [one, other] = [await startReplica(), await startReplica()];

    const ends = await Promise.all(
      Array.from({ length: 200 }, (_, at) => (at % 2 === 0 ? one : other).take(key, slow)),
    );

    expect(allowed(ends)).toBeLessThanOrEqual(60);
    await Promise.all([one.close(), other.close()]);
    const late = await takeInTurn(await startReplica(), 60);
    expect(allowed(ends) + allowed(late)).toBe(60);
  });

  it('grant exactly the rule to replicas that take turns', async () => {
    const [one, other] = [await startReplica(), await startReplica()];
    const taken: Taken[] = [];

    for (let time = 0; time < 40; time += 1) taken.push(...(await takeInTurn(one, 1)), ...(await takeInTurn(other, 1)));

    expect(allowed(taken)).toBe(60);
    expect(errorsOf(one, other)).toEqual([]);
  });

  it('get unused tokens back, soon and when the replica closes', async () => {
    const [idle, ending] = [await startReplica(), await startReplica()];
    await takeInTurn(idle, 1);
    await takeInTurn(ending, 1);
    expect(await tokensLeft()).toBeLessThan(56);

    await ending.close();

    await waitFor('the unused tokens to come back', async () => Math.floor(await tokensLeft()) === 58);
  });

  it('keep for other replicas what a burst at one does not use', async () => {
    const [bursting, other] = [await startReplica(), await startReplica()];
    const rule = { capacity: 120, periodMs: 36_000_000 };

    const burst = await Promise.all(Array.from({ length: 20 }, () => bursting.take(key, rule)));

    expect(allowed(burst)).toBe(20);
    expect(allowed(await takeInTurn(other, 100, rule))).toBe(100);
    expect(allowed(await takeInTurn(other, 1, rule))).toBe(0);
  });

  it('refuse no concurrent request while tokens are left', async () => {
    const replica = await startReplica();

    const taken: Taken[] = [];
    for (const size of [7, 1, 30, 2, 20]) {
      taken.push(...(await Promise.all(Array.from({ length: size }, () => replica.take(key, slow)))));
    }

    expect(allowed(taken)).toBe(60);
    expect((await replica.take(key, slow)).allowed).toBe(false);
  });

  it('need one call for all keys of a moment', async () => {
    const replica = await startReplica();

    await Promise.all(['a', 'b', 'c'].map((suffix) => replica.take(`${key}:${suffix}`, slow)));

    expect(replica.calls).toEqual([['a', 'b', 'c'].map((suffix) => `corral:limit:${key}:${suffix}`)]);
  });

  it('need no call for most requests of a steady client', async () => {
    const replica = await startReplica();
    const perMinute = (capacity: number): BucketRule => ({ capacity, periodMs: 60_000 });

    for (let request = 0; request < 120; request += 1) {
      await replica.take(`${key}:address`, perMinute(300));
      await replica.take(`${key}:token`, perMinute(120));
      await replica.take(`${key}:team`, perMinute(600));
    }

    expect(replica.calls.length).toBeLessThanOrEqual(40); // for 360 requests
  });

  it('take nothing for a refusal, and report when to retry', async () => {
    const replica = await startReplica();
    const rule = { capacity: 2, periodMs: 3_600_000 };
    await takeInTurn(replica, 2, rule);
    const before = await tokensLeft();

    const refusals = await takeInTurn(replica, 5, rule);

    expect(allowed(refusals)).toBe(0);
    expect(await tokensLeft()).toBeGreaterThanOrEqual(before);
    expect(refusals[0]?.retryInMs).toBeGreaterThan(1_790_000);
    expect(refusals[0]?.retryInMs).toBeLessThan(1_801_000);
  });

  it('accept returned tokens without a call, and never hold more than the rule', async () => {
    const replica = await startReplica();
    const [{ remaining: before }] = (await takeInTurn(replica, 1)) as [Taken];
    const calls = replica.calls.length;

    for (let time = 0; time < 30; time += 1) {
      await replica.giveBack(key, slow);
      await takeInTurn(replica, 1);
    }
    const left = await replica.giveBack(key, slow);

    expect(replica.calls).toHaveLength(calls);
    expect(left.remaining).toBe(before + 1);
    await replica.close();
    expect(Math.floor(await tokensLeft())).toBe(60);
  });

  it('accept returned tokens at any replica, and never more than fit', async () => {
    const [one, other] = [await startReplica(), await startReplica()];
    await takeInTurn(one, 10);

    await Promise.all(Array.from({ length: 25 }, () => other.giveBack(key, slow)));

    await Promise.all([one.close(), other.close()]);
    expect(await tokensLeft()).toBe(60);
    expect(allowed(await takeInTurn(await startReplica(), 70))).toBe(60);
  });

  it('promise tokens across replicas in the order of the requests', async () => {
    const [one, other] = [await startReplica(), await startReplica()];
    await takeInTurn(one, 60);
    const patienceMs = 3 * 600_000;

    const promised: Taken[] = [];
    for (const replica of [one, other, one]) promised.push(await replica.take(key, slow, patienceMs));

    expect(promised.map(({ waitMs }) => Math.round(waitMs / 600_000))).toEqual([1, 2, 3]);
    expect(await other.take(key, slow, patienceMs)).toMatchObject({ allowed: false, remaining: 0 });
    // A request that does not wait comes after them.
    const read = await other.take(key, slow);
    expect([read.allowed, Math.round(read.retryInMs / 600_000)]).toEqual([false, 4]);
    // A request that leaves frees a slot at the end.
    await one.giveBack(key, slow);
    expect(Math.round((await other.take(key, slow, patienceMs)).waitMs / 600_000)).toBe(3);
  });

  it('lease tokens for requests that would wait as for others', async () => {
    const replica = await startReplica();

    for (let time = 0; time < 30; time += 1) await replica.take(key, slow, 600_000);

    // A lease is a twentieth of the 60 tokens.
    expect(replica.calls.flat()).toHaveLength(10);
  });

  it('make one request for tokens per waiting request', async () => {
    const replica = await startReplica();
    await takeInTurn(replica, 60);
    const calls = replica.calls.length;

    await Promise.all(Array.from({ length: 20 }, () => replica.take(key, slow, 600_000 * 20)));

    expect(replica.calls.slice(calls).flat()).toHaveLength(20);
  });

  it('expire in Redis once they are full again', async () => {
    const replica = await startReplica();

    await takeInTurn(replica, 1, { capacity: 2, periodMs: 5_000 });

    expect(await direct.pttl(`corral:limit:${key}`)).toBeGreaterThan(5_000);
    expect(await direct.pttl(`corral:limit:${key}`)).toBeLessThanOrEqual(10_000);
  });
});

const waysToBeAway = [
  { how: 'cut', missing: missingRedis() },
  { how: 'hang', missing: missingRedis() },
] as const;

describeEachNeeding(describe, waysToBeAway, 'while Redis is unavailable ($how)', ({ how }) => {
  it('each process counts alone, and shares again when Redis is back', async () => {
    let now = Date.now();
    const { hostname: host, port } = new URL(server?.url as string);
    const proxy = await startFlakyProxy({ host, port: Number(port) });
    proxies.push(proxy);
    const replica = await startReplica({ url: `redis://127.0.0.1:${proxy.port}`, now: () => now, timeoutMs: 50 });
    const rule = { capacity: 10, periodMs: 36_000_000 };

    proxy[how]();
    const away = await takeInTurn(replica, 15, rule);

    expect(allowed(away)).toBe(10);
    expect(replica.errors).toHaveLength(1); // it is not called again for a second
    expect(await direct.exists(`corral:limit:${key}`)).toBe(0);

    proxy.restore();
    // Its own share is used up. On a busy machine an answer may come too late once or twice.
    await waitFor('the connection to be restored', async () => {
      now += 1_001;
      return (await replica.take(key, rule)).allowed;
    });
    expect(await direct.exists(`corral:limit:${key}`)).toBe(1);
  });
});

const errorsOf = (...of: Replica[]): Error[] => of.flatMap((replica) => replica.errors);
