import { type Buckets, memoryBuckets } from '@corral/admission';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { steppedClock } from './support/clocks.js';
import { type HoldingUpstream, startHoldingUpstream } from './support/holding-upstream.js';
import { type Answer, startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

const RRSETS = `/zones/${ZONE}/rrsets`;
/** A burst is eight times this number. */
const MAX = 2;
const MORE_THAN_A_BURST = 20;
const many = { perAddressPerMinute: 100_000, perTokenPerMinute: 100_000, perTeamPerMinute: 100_000 };

let base: TestGateway;
let gateway: TestGateway;
let clock: ReturnType<typeof steppedClock>;
let names = 0;
/** How many times acme’s token was charged. */
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
  const take: Buckets['take'] = (from, ...rest) => {
    if (from.some(({ key }) => key === `token:${base.acme.tokenId}`)) taken += 1;
    return buckets.take(from, ...rest);
  };
  gateway = await startGateway({
    beside: base,
    clock,
    buckets: { ...buckets, take },
    waitMsMax: 600_000,
    ...(upstreamUrl !== undefined && { upstreamUrl }),
    config: { requestsInFlightMax: max, limits: { ...many, ...limits }, actionHoldMs: 3_000 },
  });
}

const create = (): Promise<Answer> =>
  gateway.call('POST', RRSETS, { body: { name: `o${++names}.acme`, type: 'A', records: [{ value: '192.0.2.1' }] } });
const listZones = (token: string): Promise<Answer> => gateway.call('GET', '/zones', { token });
/** A request that reads no record set. */
const askForNone = (token: string): Promise<Answer> => gateway.call('GET', '/actions?id=1', { token });
const times = <T>(count: number, make: () => Promise<T>): Promise<T>[] => Array.from({ length: count }, make);

/** Sends this many requests, each once the request before it waits. */
async function oneByOne<T>(count: number, send: () => Promise<T>, waiting: () => number): Promise<Promise<T>[]> {
  const sent: Promise<T>[] = [];
  while (sent.length < count) {
    sent.push(send());
    await waitFor('it to wait', () => waiting() === sent.length);
  }
  return sent;
}

/** Blocks reads of record sets. @returns a function that unblocks them */
async function stallReads(): Promise<() => Promise<void>> {
  const holder = await base.pool.connect();
  await holder.query('BEGIN');
  await holder.query('LOCK TABLE dns_rrset IN ACCESS EXCLUSIVE MODE');
  return async () => {
    await holder.query('COMMIT');
    holder.release();
  };
}

describe('when more requests are in flight than the limit allows', () => {
  it('answers the busiest team 503 with Retry-After immediately, and serves other teams', async () => {
    await start();
    // A token counts for its team only once it was found valid.
    for (const { token } of [base.acme, base.globex]) expect((await askForNone(token)).status).toBe(200);
    const goOn = await stallReads();
    const stalled = times(MAX, () => gateway.call('GET', RRSETS));
    let refused: Answer | undefined;
    // At first, a burst waits for its turn.
    const asked: Promise<unknown>[] = [];
    await waitFor('the overload to last', () => {
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

  it('answers the health checks', async () => {
    await start();
    // Now the token is known, so that all requests count for the team from the start.
    expect((await askForNone(base.acme.token)).status).toBe(200);
    const goOn = await stallReads();
    const stalled = times(MORE_THAN_A_BURST, () => gateway.call('GET', RRSETS));
    await waitFor('the team to be refused', async () => (await askForNone(base.acme.token)).status === 503);

    const { origin } = new URL(gateway.url);
    const answers = [await fetch(`${origin}/healthz`), await fetch(`${origin}/readyz`)];
    await goOn();
    await Promise.all(stalled);

    // The blocked reads also hold every connection that the readiness check could use. It says so in its own words.
    for (const answer of answers) expect(await answer.json()).toHaveProperty('status');
  });
});

describe('the work in flight does not include', () => {
  it('a read that is held until its action ends', async () => {
    await start();
    const id = (await create()).json.action.id;
    const held = await oneByOne(MORE_THAN_A_BURST, () => gateway.call('GET', `/actions/${id}`), clock.timers);

    expect((await listZones(base.acme.token)).status).toBe(200);

    clock.pass(3_000);
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual(held.map(() => 200));
  });

  it('a write that waits for its rate', async () => {
    // The limit is one write every three seconds, and no write waits for longer than a minute.
    await start({ limits: { perTokenPerMinute: 20 } });
    for (let time = 0; time < 20; time += 1) await listZones(base.acme.token);
    expect(taken).toBe(20);
    const statuses: number[] = [];
    const write = async () => void statuses.push((await create()).status);
    const writes = await oneByOne(MORE_THAN_A_BURST, write, () => taken - 20);

    expect((await listZones(base.globex.token)).status).toBe(200);

    await waitFor('the writes to be served', () => {
      clock.pass(3_000);
      return statuses.length === writes.length;
    });
    await Promise.all(writes);
    expect(statuses).not.toContain(503);
  });

  it('a write that waits for the answer of the upstream', async () => {
    const upstream: HoldingUpstream = await startHoldingUpstream(base.cloud.apiUrl);
    const goOn = upstream.hold('/rrsets');
    await start({ max: 1, upstreamUrl: upstream.url });
    // More than a burst of one, and no more than the gateway sends upstream concurrently.
    const sent = await oneByOne(9, create, () => upstream.calls('/rrsets'));

    expect((await listZones(base.acme.token)).status).toBe(200);

    goOn();
    for (const { status } of await Promise.all(sent)) expect(status).not.toBe(503);
    await upstream.close();
  });
});
