import { setTimeout as pause } from 'node:timers/promises';
import { describeNeeding, missingRedisServer, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Load, startLoad, untilWritten } from '../../../support/clients/background-load.js';
import { callDns } from '../../../support/clients/dns-api.js';
import { untilSettled } from '../../../support/system/mirror.js';
import { type RestartableStores, restartableStores } from '../../../support/system/restartable-stores.js';
import { type RoundRobin, startRoundRobin } from '../../../support/system/round-robin.js';
import { type System, shortLeases, startSystem, type Team, ZONE } from '../../../support/system/start-system.js';
import { undo } from '../../../support/system/system-parts.js';

/** `CORRAL_AWAY_SECONDS=20` makes the outages of Postgres and Redis longer. The expectations are the same. */
const awayMs = Number(process.env.CORRAL_AWAY_SECONDS ?? 0) * 1_000;

const ends: (() => Promise<unknown>)[] = [];
let stores: RestartableStores;
let system: System;
let proxy: RoundRobin;
let url: string;
let load: Load | undefined;

beforeAll(async () => {
  stores = await restartableStores(ends);
  const { databaseUrl, redisUrl } = stores;
  system = await startSystem({
    gateways: 3,
    reconcilers: 2,
    redisUrl,
    databaseUrl,
    gatewayEnv: { LOG_LEVEL: 'error', ...shortLeases },
    reconcilerEnv: { DNS_SYNC_INTERVAL_MS: '3s', LOG_LEVEL: 'error' },
  });
  ends.push(system.stop);
  proxy = await startRoundRobin(system.gateways.map((gateway) => new URL(gateway.url).origin));
  ends.push(proxy.stop);
  url = `${proxy.base}/v1`;
});
afterEach(async () => {
  await load?.stop();
  load = undefined;
  await system?.cloud.clearFaults();
});
afterAll(async () => {
  await undo(ends);
});

describe('three gateways and two reconcilers', () => {
  it('answer 503 with Retry-After while Postgres is unavailable, and recover without a restart', async () => {
    load = startLoad(url, alone());
    await untilWritten(load, 20);
    const servedBefore = [...proxy.served];
    const pids = pidsOf(system);

    await stores.postgres.stop();
    const leftAt = performance.now();
    await waitFor('reads and writes to be refused', () => isRefused(load, false) && isRefused(load, true));
    await pause(Math.max(0, awayMs - (performance.now() - leftAt)));
    const whileAway = load.answers.length;
    await stores.postgres.start();
    await untilWritten(load, 20);
    await load.stop();

    expect(load.failures).toEqual([]); // each answer had the documented form, and each 503 a Retry-After
    const refused = load.answers.filter(({ status }) => status >= 500);
    expect(refused.map(({ status, json }) => [status, json.error.code])).toEqual(
      refused.map(() => [503, 'unavailable']),
    );
    expect(whileAway).toBeLessThan(load.answers.length);
    const servedSince = proxy.served.map((served, at) => served - (servedBefore[at] as number));
    expect(Math.min(...servedSince)).toBeGreaterThan(0);
    await expectSettled(await loseAnswer('after-postgres'));
    expect(pidsOf(system)).toEqual(pids);
  });
});

describeNeeding(describe, missingRedisServer(), 'three gateways and two reconcilers on Redis', () => {
  it('serve as before while Redis is unavailable, and afterwards', async () => {
    load = startLoad(url, alone());
    await untilWritten(load, 20);

    const pids = pidsOf(system);
    await stores.redis?.kill();
    const leftAt = performance.now();
    await untilWritten(load, 40);
    await pause(Math.max(0, awayMs - (performance.now() - leftAt)));
    await untilWritten(load, 10);
    await load.stop();
    const whileAway = await loseAnswer('while-redis-is-away');
    await stores.redis?.start();
    await expectSettled(whileAway);
    const later = startLoad(url, alone());
    await untilWritten(later, 20).finally(later.stop);

    for (const { failures, answers } of [load, later]) {
      expect(failures).toEqual([]);
      expect(answers.filter(({ status }) => status >= 500 || status === 429)).toEqual([]);
    }
    await expectSettled(await loseAnswer('after-redis'));
    expect(pidsOf(system)).toEqual(pids);
  });
});

const alone = (): Team => system.teams[0] as Team;

/** @returns the name of a set whose creation arrived, whose answer was lost, and whose outcome no gateway found out */
async function loseAnswer(label: string): Promise<string> {
  const { token, slug } = alone();
  const name = `${label}.${slug}`;
  await system.cloud.addFaults(
    { match: { method: 'POST', path: '/rrsets$' }, effect: { reset: 'after' } },
    { match: { method: 'GET', path: `/rrsets/${name}` }, times: null, effect: { status: 500 } },
  );
  const body = { name, type: 'A', records: [{ value: '192.0.2.1' }] };
  const { status } = await callDns(system.url, { method: 'POST', path: `/zones/${ZONE}/rrsets`, token, body });
  expect(status).toBe(502);
  await system.cloud.clearFaults();
  return name;
}

/** Asserts that reconcilers found out the outcome, which shows that their jobs still run. */
async function expectSettled(name: string): Promise<void> {
  await untilSettled(system);
  const path = `/zones/${ZONE}/rrsets/${name}/A`;
  const found = await callDns(system.url, { method: 'GET', path, token: alone().token });
  expect(found.status).toBe(200);
}

const pidsOf = ({ gateways, reconcilers }: System): number[] => [...gateways, ...reconcilers].map(({ pid }) => pid);

const isRefused = (load: Load | undefined, isWrite: boolean): boolean =>
  load?.answers.some((answer) => answer.status === 503 && answer.isWrite === isWrite) ?? false;
