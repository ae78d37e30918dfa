import { isRedisInstalled, waitFor } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type Load, startLoad } from '../support/background-load.js';
import { callDns } from '../support/dns-api.js';
import { restartablePostgres } from '../support/postgres.js';
import { restartableRedis } from '../support/redis.js';
import { type System, type SystemOptions, startSystem, type Team, ZONE } from '../support/start-system.js';
import { ownSets, readMirror, untilSettled } from '../support/whole.js';

const ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
}, 60_000);

async function start(options: SystemOptions = {}): Promise<{ system: System; acme: Team }> {
  const started = await startSystem(options);
  ends.push(started.stop);
  return { system: started, acme: started.teams[0] as Team };
}

const create = ({ url }: System, { token }: Team, name: string) =>
  callDns(url, {
    ...{ method: 'POST', path: `/zones/${ZONE}/rrsets`, token },
    body: { name, type: 'A', records: [{ value: '192.0.2.1' }] },
  });

async function expectMirrorIsTrue(at: System, team: Team): Promise<void> {
  await untilSettled(at);
  expect(await readMirror(at, team)).toEqual(ownSets(await at.cloud.stated(), team));
}

describe('a gateway that is told to end', () => {
  it('answers every request in flight, then ends with 0', async () => {
    const { system, acme } = await start({ gatewayEnv: { UPSTREAM_TIMEOUT_MS: '10s' } });
    const [gateway] = system.gateways;
    await system.cloud.addFaults({ match: { method: 'POST' }, times: null, effect: { delayMs: 1_000 } });
    const names = Array.from({ length: 20 }, (_, number) => `n${number}.acme`);

    const answers = Promise.all(names.map((name) => create(system, acme, name)));
    await waitFor('all writes to be upstream', async () => {
      expect((await system.cloud.calls())['POST /v1/zones/:zone/rrsets']).toBe(names.length);
      return true;
    });
    const ended = await gateway?.stop();

    expect((await answers).map(({ status }) => status)).toEqual(names.map(() => 201));
    expect(ended).toEqual({ code: 0, signal: null });
    await system.cloud.clearFaults();
    await gateway?.start();
    await gateway?.untilReady();
    expect(Object.keys(await readMirror(system, acme)).sort()).toEqual(names.map((name) => `${name}/A`).sort());
    await expectMirrorIsTrue(system, acme);
  }, 120_000);
});

describe('while Postgres is away', () => {
  it('answers 503 with Retry-After, and goes on by itself when it is back', async () => {
    const postgres = await restartablePostgres();
    ends.push(postgres.remove);
    const { system, acme } = await start({ databaseUrl: postgres.url });
    const load = startLoad(system.url, system.teams[0] as Team);
    ends.push(load.stop);
    await untilWritten(load, 20);

    await postgres.stop();
    await waitFor('reads and writes to be refused', () => {
      const refused = load.answers.filter(({ status }) => status === 503);
      return refused.some(({ isWrite }) => isWrite) && refused.some(({ isWrite }) => !isWrite);
    });
    await postgres.start();
    await untilWritten(load, 20);
    await load.stop();

    expect(load.failures).toEqual([]);
    const refused = load.answers.filter(({ status }) => status === 503);
    expect(refused.map(({ json }) => json.error.code)).toEqual(refused.map(() => 'unavailable'));
    expect(refused.filter(({ headers }) => !/^[1-9]\d*$/.test(headers.get('retry-after') ?? ''))).toEqual([]);
    expect(load.answers.filter(({ status }) => status === 500)).toEqual([]);
    await expectMirrorIsTrue(system, acme);
  }, 180_000);
});

(isRedisInstalled() ? describe : describe.skip)('while Redis is away', () => {
  it('serves as before, and jobs go on when it is back', async () => {
    const redis = await restartableRedis();
    await redis.start();
    ends.push(redis.kill);
    const { system, acme } = await start({ redisUrl: redis.url });
    const load = startLoad(system.url, system.teams[0] as Team);
    ends.push(load.stop);
    await untilWritten(load, 20);

    await redis.kill();
    await untilWritten(load, 40);
    await load.stop();
    await system.cloud.addFaults({ match: { method: 'POST', path: '/rrsets$' }, effect: { reset: 'after' } });
    const uncertain = await create(system, acme, 'uncertain.acme');
    await redis.start();

    expect(uncertain.status).toBe(502);
    await expectMirrorIsTrue(system, acme);
    expect(Object.keys(await readMirror(system, acme))).toContain('uncertain.acme/A');
    expect(load.failures).toEqual([]);
    expect(load.answers.filter(({ status }) => status >= 500 || status === 429)).toEqual([]);
  }, 180_000);
});

/** Some more writes were accepted after this moment. */
async function untilWritten(load: Load, count: number): Promise<void> {
  const accepted = () => load.answers.filter(({ isWrite, status }) => isWrite && status < 300).length;
  const before = accepted();
  await waitFor(`${count} more accepted writes`, () => accepted() >= before + count, { timeoutMs: 60_000 });
}
