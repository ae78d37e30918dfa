import { type Buckets, memoryBuckets } from '@corral/rate-limit';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { steppedClock } from './support/clocks.js';
import { type HoldingUpstream, startHoldingUpstream } from './support/holding-upstream.js';
import { type Answer, startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

const RRSETS = `/zones/${ZONE}/rrsets`;
/** A burst is eight times as many. */
const MAX = 2;
const MORE_THAN_A_BURST = 20;
const many = { perAddressPerMinute: 100_000, perTokenPerMinute: 100_000, perTeamPerMinute: 100_000 };

let base: TestGateway;
let gateway: TestGateway;
let clock: ReturnType<typeof steppedClock>;
let names = 0;
/** Charges of acme's token. */
let taken = 0;
beforeAll(async () => {
  base = await startGateway({ actionMs: 3_600_000 });
});
afterEach(() => gateway.close());
afterAll(() => base.close());

interface Wanted {
  readonly max?: number;
  readonly limits?: Partial<typeof many>;
  readonly upstreamUrl?: string;
}

async function start({ max = MAX, limits = {}, upstreamUrl }: Wanted = {}): Promise<void> {
  clock = steppedClock();
  const buckets = memoryBuckets(clock.now);
  taken = 0;
  const take: Buckets['take'] = (key, ...rest) => {
    if (key === `token:${base.acme.tokenId}`) taken += 1;
    return buckets.take(key, ...rest);
  };
  gateway = await startGateway({
    ...{ beside: base, clock, buckets: { ...buckets, take }, waitMsMax: 600_000 },
    ...(upstreamUrl !== undefined && { upstreamUrl }),
    config: { requestsInFlightMax: max, limits: { ...many, ...limits }, actionHoldMs: 3_000 },
  });
}

const create = (): Promise<Answer> =>
  gateway.call('POST', RRSETS, { body: { name: `o${++names}.acme`, type: 'A', records: [{ value: '192.0.2.1' }] } });
const listZones = (token: string): Promise<Answer> => gateway.call('GET', '/zones', { token });
/** Touches no record set. */
const askForNone = (token: string): Promise<Answer> => gateway.call('GET', '/actions?id=1', { token });
const times = <T>(count: number, make: () => Promise<T>): Promise<T>[] => Array.from({ length: count }, make);

/** Sends so many, each when the one before has come to where it waits. */
async function oneByOne<T>(count: number, send: () => Promise<T>, waiting: () => number): Promise<Promise<T>[]> {
  const sent: Promise<T>[] = [];
  while (sent.length < count) {
    sent.push(send());
    await waitFor('it to wait', () => waiting() === sent.length);
  }
  return sent;
}

/** Keeps reads of record sets from being answered. @returns lets them be */
async function stallReads(): Promise<() => Promise<void>> {
  const holder = await base.pool.connect();
  await holder.query('BEGIN');
  await holder.query('LOCK TABLE dns_rrset IN ACCESS EXCLUSIVE MODE');
  return async () => {
    await holder.query('COMMIT');
    holder.release();
  };
}

describe('while more is in flight than is worked on at once', () => {
  it('requests of the busiest team are answered 503 with Retry-After, at once, and those of another team are served', async () => {
    await start();
    // A token is somebody's once it was found good.
    for (const { token } of [base.acme, base.globex]) expect((await askForNone(token)).status).toBe(200);
    const goOn = await stallReads();
    const stalled = times(MAX, () => gateway.call('GET', RRSETS));
    let refused: Answer | undefined;
    // A burst waits for its turn at first.
    const asked: Promise<unknown>[] = [];
    await waitFor('the crowd to last', () => {
      asked.push(
        askForNone(base.acme.token).then((answer) => {
          if (answer.status === 503) refused ??= answer;
        }),
      );
      return refused !== undefined;
    });

    const other = await askForNone(base.globex.token);
    const unread = await gateway.call('POST', RRSETS, { body: 'x'.repeat(2_000) });
    await goOn();

    expect(refused?.json.error).toMatchObject({ code: 'unavailable', details: null });
    expect(refused?.json.error.message).toContain('Retry-After');
    expect(refused?.headers.get('retry-after')).toBe('1');
    expect(refused?.headers.get('x-correlation-id')).not.toBeNull();
    expect([unread.status, other.status]).toEqual([503, 200]);
    expect((await Promise.all(stalled)).map(({ status }) => status)).toEqual([200, 200]);
    await Promise.all(asked);
    expect((await askForNone(base.acme.token)).status).toBe(200);
  });

  it('those who ask whether it lives are answered', async () => {
    await start();
    // All are the team's from the first moment on.
    expect((await askForNone(base.acme.token)).status).toBe(200);
    const goOn = await stallReads();
    const stalled = times(MORE_THAN_A_BURST, () => gateway.call('GET', RRSETS));
    await waitFor('the team to be refused', async () => (await askForNone(base.acme.token)).status === 503);

    const { origin } = new URL(gateway.url);
    const answers = [await fetch(`${origin}/healthz`), await fetch(`${origin}/readyz`)];
    await goOn();
    await Promise.all(stalled);

    // Reads have taken all connections that the test's readiness has, too: it says so, in words of its own.
    for (const answer of answers) expect(await answer.json()).toHaveProperty('status');
  });
});

describe('among the work in flight is not', () => {
  it('a read that is held until its action ends', async () => {
    await start();
    const id = (await create()).json.action.id;
    const held = await oneByOne(MORE_THAN_A_BURST, () => gateway.call('GET', `/actions/${id}`), clock.timers);

    expect((await listZones(base.acme.token)).status).toBe(200);

    clock.pass(3_000);
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual(held.map(() => 200));
  });

  it('a write that waits for its rate', async () => {
    // One every three seconds, and nobody waits for longer than a minute.
    await start({ limits: { perTokenPerMinute: 20 } });
    for (let time = 0; time < 20; time += 1) await listZones(base.acme.token);
    expect(taken).toBe(20);
    const statuses: number[] = [];
    const write = async () => void statuses.push((await create()).status);
    const writes = await oneByOne(MORE_THAN_A_BURST, write, () => taken - 20);

    expect((await listZones(base.globex.token)).status).toBe(200);

    await waitFor('them to be served', () => {
      clock.pass(3_000);
      return statuses.length === writes.length;
    });
    await Promise.all(writes);
    expect(statuses).not.toContain(503);
  });

  it('a write whose answer the upstream owes', async () => {
    const upstream: HoldingUpstream = await startHoldingUpstream(base.cloud.apiUrl);
    const goOn = upstream.hold('/rrsets');
    await start({ max: 1, upstreamUrl: upstream.url });
    // More than a burst of one, and no more than are sent upstream at once.
    const sent = await oneByOne(9, create, () => upstream.calls('/rrsets'));

    expect((await listZones(base.acme.token)).status).toBe(200);

    goOn();
    for (const { status } of await Promise.all(sent)) expect(status).not.toBe(503);
    await upstream.close();
  });
});
