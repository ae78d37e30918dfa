import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { signIn } from '../../support/clusters/client.js';
import {
  type ClusterSystem,
  type ClusterTeam,
  startClusterSystem,
} from '../../support/clusters/start-cluster-system.js';
import { CLIENTS, DRAIN_DELAY_MS, failuresWhileRestarting, WRITE_EVERY } from '../../support/system/rolling-restart.js';
import { ZONE } from '../../support/system/system-parts.js';

let system: ClusterSystem;
beforeAll(async () => {
  const env = { DRAIN_DELAY_MS };
  system = await startClusterSystem({ apis: 2, gateways: 2, apiEnv: env, gatewayEnv: () => env });
});
afterAll(() => system?.stop());

const sendAs =
  (credential: Record<string, string>) =>
  (url: string, method = 'GET', body?: unknown): Promise<Response> =>
    fetch(url, {
      method,
      headers: { ...credential, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

it('the DNS API loses no request during a rolling restart, and no write', async () => {
  const { member } = system.teams[0] as ClusterTeam;
  const made = await member.insist({ method: 'POST', path: '/dns-tokens/', body: { name: 'rolling restart' } });
  const send = sendAs({ authorization: `Bearer ${made.json.token}` });
  const rrsets = `/v1/zones/${ZONE}/rrsets`;

  for (let index = 0; index < CLIENTS; index += 1) {
    const body = { name: `c${index}.acme`, type: 'A', records: [{ value: '192.0.2.1' }] };
    expect((await send(`${system.gateways[0]?.base}${rrsets}`, 'POST', body)).status).toBe(201);
  }

  const failures = await failuresWhileRestarting(system.gateways, (at, index, turn) => {
    const url = `${at}${rrsets}/c${index}.acme/A`;
    if (turn % WRITE_EVERY !== 0) return send(url);
    return send(`${url}/actions/set_records`, 'POST', { records: [{ value: `192.0.2.${turn % 250}` }] });
  });

  expect(failures).toEqual([]);
}, 600_000);

it('the cluster API loses no request during a rolling restart, and no write', async () => {
  const send = sendAs({ cookie: await signIn(system.apis[0]?.base as string, 'member@acme.test') });
  const clusters = '/api/v1/teams/acme/clusters';

  const failures = await failuresWhileRestarting(system.apis, (at, index, turn) => {
    if (turn % WRITE_EVERY !== 0) return send(`${at}${clusters}/`);
    const kubernetesVersion = ['1.33', '1.34'][(turn / WRITE_EVERY) % 2];
    return send(`${at}${clusters}/c${index}/`, 'PUT', { spec: { ...system.surroundings, kubernetesVersion } });
  });

  expect(failures).toEqual([]);
}, 600_000);
