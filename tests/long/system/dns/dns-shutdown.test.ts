import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callDns } from '../../../support/clients/dns-api.js';
import { ownSets, readMirror, untilSettled } from '../../../support/system/mirror.js';
import { type System, startSystem, type Team, ZONE } from '../../../support/system/start-system.js';

let system: System;

beforeAll(async () => {
  system = await startSystem();
});
afterAll(() => system?.stop());

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
    const acme = system.teams[0] as Team;
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
