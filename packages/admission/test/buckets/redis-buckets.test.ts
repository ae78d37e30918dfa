import { randomUUID } from 'node:crypto';
import {
  describeEachNeeding,
  describeNeeding,
  type FlakyProxy,
  freePort,
  missingRedis,
  redisForTests,
  startFlakyProxy,
  waitFor,
} from '@corral/testing';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import {
  type BucketRule,
  type Buckets,
  connectBuckets,
  memoryBuckets,
  redisBuckets,
  type Taken,
} from '../../src/buckets/buckets.js';

const server = await redisForTests();

/** So slow that practically nothing flows in during a test. */
const slow: BucketRule = { capacity: 60, periodMs: 36_000_000 };

interface Replica extends Buckets {
  readonly errors: Error[];
  /** The times when Redis came back. */
  readonly returns: readonly number[];
  readonly redis: Redis;
}

let key: string;
let direct: Redis;
let proxies: FlakyProxy[];
let replicas: Replica[];

beforeEach(() => {
  key = `test:${randomUUID()}`;
  if (server === null) return;
  direct = new Redis(server.url);
  proxies = [];
  replicas = [];
});
afterEach(async () => {
  if (server === null) return;
  for (const { redis } of replicas) redis.disconnect();
  await Promise.all(proxies.map((proxy) => proxy.close()));
  direct.disconnect();
});
afterAll(() => server?.stop());

async function startReplica({ url = server?.url as string, now = Date.now, timeoutMs = 2_000 } = {}): Promise<Replica> {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => 20,
    commandTimeout: timeoutMs,
  });
  redis.on('error', () => undefined);
  await waitFor('Redis to be ready', () => redis.status === 'ready');
  const errors: Error[] = [];
  const fallback = memoryBuckets(now);
  const onError = (error: Error) => void errors.push(error);
  const returns: number[] = [];
  const onBack = () => void returns.push(now());
  const replica = {
    ...redisBuckets({ redis, fallback, now, onError, onBack }),
    errors,
    returns,
    redis,
  };
  replicas.push(replica);
  return replica;
}

const allowed = (taken: readonly Taken[]): number => taken.filter((each) => each.allowed).length;

async function take(buckets: Buckets, rule = slow, patienceMs = 0): Promise<Taken> {
  const [taken] = await buckets.take([{ key, rule }], patienceMs);
  return taken as Taken;
}

async function takeInTurn(buckets: Buckets, times: number, rule = slow): Promise<Taken[]> {
  const taken: Taken[] = [];
  for (let time = 0; time < times; time += 1) taken.push(await take(buckets, rule));
  return taken;
}

describeNeeding(describe, missingRedis(), 'buckets on Redis', () => {
  it('are charged by a Redis that has lost what it was told, as after a restart', async () => {
    const replica = await startReplica();
    expect(await take(replica)).toMatchObject({ allowed: true });

    await direct.script('FLUSH');

    expect(await take(replica)).toMatchObject({ allowed: true, remaining: 58 });
    expect(replica.errors).toEqual([]);
  });

  it('grant exactly the rule to replicas together, however their requests meet', async () => {
    const [one, other] = [await startReplica(), await startReplica()];

    const burst = await Promise.all(Array.from({ length: 50 }, (_, at) => take(at % 2 === 0 ? one : other)));
    const late: Taken[] = [];
    for (let time = 0; time < 40; time += 1) late.push(await take(one), await take(other));

    expect([allowed(burst), allowed(late)]).toEqual([50, 10]);
    expect([...one.errors, ...other.errors]).toEqual([]);
  });

  it('answer as buckets in memory do', async () => {
    const of: BucketRule = { capacity: 3, periodMs: 36_000_000_000 };
    const hours = fc.integer({ min: 0, max: 8_000 }).map((count) => count * 3_600_000);
    const step = fc.oneof(fc.record({ patienceMs: hours }), fc.record({ tokens: fc.integer({ min: 1, max: 4 }) }));
    const redis = await startReplica();
    let runs = 0;
    const rounded = (taken: readonly Taken[]) =>
      taken.map(({ allowed, remaining, ...times }) => [
        allowed,
        remaining,
        ...Object.values(times).map((ms) => Math.round(ms / 3_600_000)),
      ]);

    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        runs += 1;
        const memory = memoryBuckets(() => 0);
        const buckets = [
          { key: `${key}:${runs}:one`, rule: of },
          { key: `${key}:${runs}:other`, rule: { ...of, capacity: 2 } },
        ];
        for (const each of steps) {
          if ('tokens' in each) await Promise.all([memory, redis].map((by) => by.giveBack(buckets, each.tokens)));
          else {
            const [expected, answer] = await Promise.all(
              [memory, redis].map((by) => by.take(buckets, each.patienceMs)),
            );
            expect(rounded(answer ?? [])).toEqual(rounded(expected ?? []));
          }
        }
      }),
      { numRuns: 50 },
    );
  });

  it('expire in Redis once they are full again', async () => {
    const replica = await startReplica();

    await take(replica, { capacity: 2, periodMs: 5_000 });

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
      return (await take(replica, rule)).allowed;
    });
    expect(await direct.exists(`corral:limit:${key}`)).toBe(1);
    expect(replica.returns.length).toBe(1);
  });
});

it('each of several processes grants its part of a limit while Redis cannot be reached', async () => {
  const redisUrl = `redis://127.0.0.1:${await freePort()}`;
  const one = connectBuckets({ redisUrl, processes: { count: 3 }, onError: () => undefined });

  const taken = await takeInTurn(one, slow.capacity);
  one.close();

  expect(allowed(taken)).toBe(slow.capacity / 3);
});
