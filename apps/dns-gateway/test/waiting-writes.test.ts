import { dnsLimits } from '@corral/contracts';
import { memoryBuckets, type Taken } from '@corral/rate-limit';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { steppedClock } from './support/clocks.js';
import { type Answer, type CallOptions, startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

const RECORDS = `/zones/${ZONE}/rrsets`;
const many = { perAddressPerMinute: 100_000, perTokenPerMinute: 100_000, perTeamPerMinute: 100_000 };
/** Twelve a minute are one every five seconds. */
const [PER_MINUTE, GAP_MS] = [12, 5_000];
/** The second write still has time to wait for the upstream's budget, of which a new gateway knows nothing. The third is late. */
const [WRITE_WAIT_MS, READ_WAIT_MS] = [2 * GAP_MS + 4_000, 3 * GAP_MS + 4_000];

let base: TestGateway;
let gateway: TestGateway;
let clock: ReturnType<typeof steppedClock>;
let token: string;
let made = 0;
beforeAll(async () => {
  base = await startGateway();
});
afterEach(() => gateway.close());
afterAll(() => base.close());

/** A gateway on a time of its own, and a team of which nothing is spent. */
async function start(limits: Partial<typeof many>) {
  clock = steppedClock();
  const buckets = memoryBuckets(clock.now);
  const config = { limits: { ...many, ...limits }, writeWaitMs: WRITE_WAIT_MS, readWaitMs: READ_WAIT_MS };
  // Of the upstream nobody has to wait for a turn here, however busy the machine is.
  gateway = await startGateway({ beside: base, buckets, clock, config, waitMsMax: 600_000 });
  const team = await gateway.createTeam(`team-${++made}`);
  token = team.token;
  return { buckets, team };
}

const read = (): Promise<Answer> => gateway.call('GET', RECORDS, { token });
const write = (name: string, options: CallOptions = {}): Promise<Answer> =>
  gateway.call('POST', RECORDS, {
    ...{ token, body: { name: `${name}.team-${made}`, type: 'A', records: [{ value: '192.0.2.1' }] } },
    ...options,
  });
const spend = async (count: number): Promise<void> => {
  for (let time = 0; time < count; time += 1) expect((await read()).status).toBe(200);
};
const untilWaiting = () => waitFor('a write to wait', () => clock.timers() > 0);
const written = (): string[] =>
  gateway.cloud.admin
    .writes()
    .map(({ name }) => name)
    .filter((name) => name.endsWith(`.team-${made}`));

describe('a write over its token’s rate', () => {
  it('waits, unsent, until the bucket has refilled, and is answered as any other', async () => {
    await start({ perTokenPerMinute: PER_MINUTE });
    await spend(PER_MINUTE);

    const waiting = write('a');
    await untilWaiting();
    clock.pass(GAP_MS - 1);
    expect(written()).toEqual([]);
    clock.pass(1);

    const { status, headers } = await waiting;
    expect([status, headers.get('ratelimit-limit'), headers.get('ratelimit-remaining')]).toEqual([201, '12', '0']);
    expect(clock.timers()).toBe(0);
  });

  it('holds no connection of the database meanwhile', async () => {
    await start({ perTokenPerMinute: PER_MINUTE });
    await spend(PER_MINUTE);
    const waiting = write('a');
    await untilWaiting();

    await waitFor('all connections to be idle', () => gateway.pool.idleCount === gateway.pool.totalCount);

    clock.pass(GAP_MS);
    expect((await waiting).status).toBe(201);
  });

  it('is served in the order of arrival, and refused at once when its turn would not come in time', async () => {
    await start({ perTokenPerMinute: PER_MINUTE });
    await spend(PER_MINUTE);
    const first = write('first');
    await untilWaiting();
    const remaining = new Set([write('second'), write('third')]);

    // Which of the two comes first is theirs; the other finds no room within the time for writes.
    const refused = await Promise.race(remaining);
    expect([refused.status, refused.json.error.message]).toEqual([429, expect.stringContaining('with this token')]);
    expect(refused.headers.get('retry-after')).toBe('15');
    clock.pass(GAP_MS);
    expect((await first).status).toBe(201);
    expect(written()).toHaveLength(1);
    clock.pass(GAP_MS);

    const statuses = (await Promise.all(remaining)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([201, 429]);
    expect(written()[0]).toBe(`first.team-${made}`);
  });

  it('goes before reads: they are refused at once as long as somebody waits', async () => {
    await start({ perTokenPerMinute: PER_MINUTE });
    await spend(PER_MINUTE);
    const waiting = write('a');
    await untilWaiting();
    clock.pass(GAP_MS - 1);

    const refused = await read();

    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '6']);
    clock.pass(1);
    expect((await waiting).status).toBe(201);
  });

  it('costs nothing when its client goes away, and who is behind moves up', async () => {
    const { team } = await start({ perTokenPerMinute: PER_MINUTE });
    await spend(PER_MINUTE);
    const gone = new AbortController();
    const left = fetch(`${gateway.url}${RECORDS}`, {
      ...{ method: 'POST', signal: gone.signal, body: '{}' },
      headers: { Authorization: `Bearer ${team.token}`, 'Content-Type': 'application/json' },
    });
    left.catch(() => undefined);
    await untilWaiting();

    gone.abort();
    await waitFor('it to leave the queue', () => clock.timers() === 0);
    const next = write('next');
    await untilWaiting();
    clock.pass(GAP_MS);

    expect((await next).status).toBe(201);
    expect(written()).toEqual([`next.team-${made}`]);
  });

  it('is refused when its token has no place left to wait in', async () => {
    const { buckets, team } = await start({ perTokenPerMinute: 6_000 });
    const rule = { capacity: 6_000, periodMs: 60_000 };
    while ((buckets.take(`token:${team.tokenId}`, rule) as { allowed: boolean }).allowed);

    const answers = Array.from({ length: 65 }, (_, at) => write(`w${at}`));
    const refused = await Promise.race(answers);
    expect([refused.status, refused.json.error.code]).toEqual([429, 'rate_limit_exceeded']);
    clock.pass(1_000);

    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(64);
  });
});

describe('a write over its team’s rate', () => {
  it('waits, too, and what refuses it in the end is named', async () => {
    const { team } = await start({ perTeamPerMinute: PER_MINUTE });
    await spend(PER_MINUTE);
    const { token: second } = await gateway.issueToken(team);

    const waiting = [write('a')];
    await untilWaiting();
    waiting.push(write('b', { token: second }));
    const refused = await Promise.race([...waiting, write('c')]);
    expect([refused.status, refused.json.error.message]).toEqual([429, expect.stringContaining('of this team')]);
    clock.pass(2 * GAP_MS);
    await Promise.all(waiting);
  });

  it('costs its token nothing when it is refused', async () => {
    await start({ perTokenPerMinute: 3, perTeamPerMinute: 1 });
    expect((await write('a')).status).toBe(201);

    for (let time = 0; time < 5; time += 1) {
      expect((await write('b')).json.error.message).toContain('of this team');
    }
  });
});

describe('a read of one record set over its token’s rate', () => {
  const ruleOf = (perMinute: number) => ({ capacity: perMinute, periodMs: 60_000 });
  /** A refusal takes nothing. */
  const untilPromised = (count: number, { buckets, team }: Awaited<ReturnType<typeof start>>, perMinute: number) =>
    waitFor(`${count} to be promised a turn`, () => {
      const { retryInMs } = buckets.take(`token:${team.tokenId}`, ruleOf(perMinute)) as Taken;
      return retryInMs > (count * 60_000) / perMinute;
    });
  const readOne = (name: string) => gateway.call('GET', `${RECORDS}/${name}.team-${made}/A`, { token });

  it('waits for its turn', async () => {
    await start({ perTokenPerMinute: PER_MINUTE });
    expect((await write('a')).status).toBe(201);
    await spend(PER_MINUTE - 1);

    const waiting = readOne('a');
    await untilWaiting();
    clock.pass(GAP_MS);

    expect(await waiting).toMatchObject({ status: 200, json: { rrset: { id: `a.team-${made}/A` } } });
    expect(clock.timers()).toBe(0);
  });

  it('finds room behind all writes that may wait: what was written can be read back', async () => {
    const started = await start({ perTokenPerMinute: PER_MINUTE });
    await spend(PER_MINUTE);
    const writes = [write('a'), write('b'), write('c')];
    expect((await Promise.race(writes)).status).toBe(429);

    const waiting = readOne('absent');
    await untilPromised(3, started, PER_MINUTE);
    clock.pass(3 * GAP_MS);

    expect((await waiting).status).toBe(404);
  });

  it('is refused when sixteen of its token wait, so that a write always finds room', async () => {
    const perMinute = dnsLimits.requestsPerTokenPerMinute;
    const started = await start({ perTokenPerMinute: perMinute });
    const { buckets, team } = started;
    while ((buckets.take(`token:${team.tokenId}`, ruleOf(perMinute)) as Taken).allowed);

    const answers = Array.from({ length: 17 }, () => readOne('absent'));
    expect((await Promise.race(answers)).status).toBe(429);
    const writing = write('a');
    await untilPromised(17, started, perMinute);
    clock.pass((17 * 60_000) / perMinute);

    expect((await writing).status).toBe(201);
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 404)).toHaveLength(16);
  });
});
