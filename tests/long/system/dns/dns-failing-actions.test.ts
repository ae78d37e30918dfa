import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Answer } from '../../../support/clients/answer.js';
import { callDns } from '../../../support/clients/dns-api.js';
import { ownSets, readMirror } from '../../../support/system/mirror.js';
import { type System, startSystem, type Team, ZONE } from '../../../support/system/start-system.js';

const HOUR_MS = 3_600_000;

let system: System;
let team: Team;

// The reconciler syncs the zone once when it starts, and not again within an hour.
beforeAll(async () => {
  system = await startSystem({ reconcilerEnv: { DNS_SYNC_INTERVAL_MS: '1h' } });
  team = system.teams[0] as Team;
});
afterAll(() => system?.stop());

const write = (method: string, path: string, body?: object): Promise<Answer> =>
  callDns(system.url, {
    method,
    path: `/zones/${ZONE}/rrsets${path}`,
    token: team.token,
    ...(body && { body }),
  });
const aSet = (name: string) => ({ name, type: 'A', records: [{ value: '192.0.2.1' }] });
const walks = async () => (await system.pool.query('SELECT state, started_at FROM dns_sync_run ORDER BY id')).rows;

it('a write whose action fails is reverted in the mirror even if no client asks for the action and no sync runs', async () => {
  await waitFor('the first sync of the zone', async () => (await walks()).some(({ state }) => state === 'succeeded'));
  for (const name of ['changed.acme', 'deleted.acme']) expect((await write('POST', '', aSet(name))).status).toBe(201);
  const before = await readMirror(system, team);
  const walked = await walks();
  await system.cloud.addFaults({
    match: { path: '/rrsets' },
    times: 3,
    effect: { actionError: { code: 'action_failed', message: 'injected fault', afterMs: HOUR_MS } },
  });

  const answers = [
    await write('POST', '', aSet('made.acme')),
    await write('POST', '/changed.acme/A/actions/set_records', { records: [{ value: '192.0.2.2' }] }),
    await write('DELETE', '/deleted.acme/A'),
  ];

  expect(answers.map(({ status, json }) => [status, json.action.status])).toEqual(Array(3).fill([201, 'running']));
  expect(Object.keys(await readMirror(system, team)).sort()).toEqual(['changed.acme/A', 'made.acme/A']);
  await system.cloud.admin('POST', '/clock', { advanceMs: HOUR_MS });
  await waitFor('the mirror to be as before', async () => {
    expect(await readMirror(system, team)).toEqual(before);
    return true;
  });
  expect(ownSets(await system.cloud.stated(), team)).toEqual(before);
  expect(await walks()).toEqual(walked);
});
