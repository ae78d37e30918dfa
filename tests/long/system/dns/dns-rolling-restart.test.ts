import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  type ClusterSystem,
  type ClusterTeam,
  startClusterSystem,
} from '../../../support/clusters/start-cluster-system.js';
import {
  CLIENTS,
  DRAIN_DELAY_MS,
  failuresWhileRestarting,
  WRITE_EVERY,
} from '../../../support/system/rolling-restart.js';
import { ZONE } from '../../../support/system/system-parts.js';

let system: ClusterSystem;
beforeAll(async () => {
  system = await startClusterSystem({ gateways: 2, gatewayEnv: () => ({ DRAIN_DELAY_MS }) });
});
afterAll(() => system?.stop());

const asJson = (body: unknown) => ({ headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

it('the DNS API loses no request during a rolling restart, and no write', async () => {
  const { member } = system.teams[0] as ClusterTeam;
  const made = await member.insist({ method: 'POST', path: '/dns-tokens/', body: { name: 'rolling restart' } });
  const authorization = `Bearer ${made.json.token}`;
  const rrsets = `/v1/zones/${ZONE}/rrsets`;
  for (let index = 0; index < CLIENTS; index += 1) {
    const { headers, body } = asJson({ name: `c${index}.acme`, type: 'A', records: [{ value: '192.0.2.1' }] });
    const url = `${system.gateways[0]?.base}${rrsets}`;
    const created = await fetch(url, { method: 'POST', headers: { ...headers, authorization }, body });
    expect(created.status).toBe(201);
  }

  const failures = await failuresWhileRestarting(system.gateways, (at, index, turn) => {
    const url = `${at}${rrsets}/c${index}.acme/A`;
    if (turn % WRITE_EVERY !== 0) return fetch(url, { headers: { authorization } });
    const { headers, body } = asJson({ records: [{ value: `192.0.2.${turn % 250}` }] });
    return fetch(`${url}/actions/set_records`, { method: 'POST', headers: { ...headers, authorization }, body });
  });

  expect(failures).toEqual([]);
}, 600_000);
