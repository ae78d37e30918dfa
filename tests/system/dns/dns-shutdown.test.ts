import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Load, startLoad, untilWritten } from '../../support/clients/background-load.js';
import { callDns } from '../../support/clients/dns-api.js';
import { ownSets, readMirror, untilSettled } from '../../support/system/mirror.js';
import { restartablePostgres } from '../../support/system/postgres.js';
import { type System, startSystem, type Team, ZONE } from '../../support/system/start-system.js';
import { type Ends, undo } from '../../support/system/system-parts.js';

const ends: Ends = [];
let postgres: Awaited<ReturnType<typeof restartablePostgres>>;
let system: System;
let load: Load | undefined;

beforeAll(async () => {
  postgres = await restartablePostgres();
  ends.push(postgres.remove);
  system = await startSystem({
    databaseUrl: postgres.url,
    teams: ['acme', 'globex'],
  });
  ends.push(system.stop);
});
afterEach(async () => {
  await load?.stop();
  load = undefined;
});
afterAll(() => undo(ends));

const team = (at: number): Team => system.teams[at] as Team;

const create = ({ url }: System, { token }: Team, name: string) =>
  callDns(url, {
    method: 'POST',
    path: `/zones/${ZONE}/rrsets`,
    token,
    body: { name, type: 'A', records: [{ value: '192.0.2.1' }] },
  });

const creations = async (): Promise<number> => (await system.cloud.calls())['POST /v1/zones/:zone/rrsets'] ?? 0;

async function expectMirrorIsTrue(at: System, team: Team): Promise<void> {
  await untilSettled(at);
  expect(await readMirror(at, team)).toEqual(ownSets(await at.cloud.stated(), team));
}

describe('a gateway that is asked to stop', () => {
  it('answers every request in flight, then exits with 0', async () => {
    const acme = team(0);
    const [gateway] = system.gateways;
    await system.cloud.addFaults({ match: { method: 'POST' }, times: null, effect: { delayMs: 1_000 } });
    const names = Array.from({ length: 20 }, (_, number) => `n${number}.acme`);

    const before = await creations();
    const answers = Promise.all(names.map((name) => create(system, acme, name)));
    await waitFor('all writes to be upstream', async () => (await creations()) === before + names.length);
    const ended = await gateway?.stop();

    expect((await answers).map(({ status }) => status)).toEqual(names.map(() => 201));
    expect(ended).toEqual({ code: 0, signal: null });
    await system.cloud.clearFaults();
    await gateway?.start();
    await gateway?.untilReady();
    expect(Object.keys(await readMirror(system, acme)).sort()).toEqual(names.map((name) => `${name}/A`).sort());
    await expectMirrorIsTrue(system, acme);
  });
});

describe('while Postgres is unavailable', () => {
  it('answers 503 with Retry-After, and recovers by itself when it is back', async () => {
    load = startLoad(system.url, team(1));
    await untilWritten(load, 20);

    await postgres.stop();
    await waitFor('reads and writes to be refused', () => {
      const refused = load?.answers.filter(({ status }) => status === 503) ?? [];
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
    await expectMirrorIsTrue(system, team(1));
  });
});
