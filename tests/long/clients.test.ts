import { afterAll, beforeAll } from '@jest/globals';
import { ownUpstreamName } from '../support/clients/built-in-name.js';
import { pebble } from '../support/clients/client-programs.js';
import { describeClient, provide, type Surroundings } from '../support/clients/matrix/describe-clients.js';
import { describeDnscontrol } from '../support/clients/matrix/dnscontrol.js';
import { describeExternalDns } from '../support/clients/matrix/external-dns.js';
import { clientRows } from '../support/clients/matrix/rows.js';
import { startPebble } from '../support/clients/pebble.js';
import { startSystem } from '../support/system/start-system.js';
import { type Ends, undo } from '../support/system/system-parts.js';

/* Every client of the table, with its own team. `CORRAL_CLIENTS=lego,certbot` tries these only. */

const chosen = process.env.CORRAL_CLIENTS?.split(',');
const provided = await provide(clientRows.filter(({ name }) => chosen === undefined || chosen.includes(name)));
const needAuthority = provided.some(({ row, client }) => row.story === 'certificates' && client.kind === 'found');

const ends: Ends = [];
let around: Surroundings;

beforeAll(async () => {
  const { authority: trusted, gatewayEnv, clientEnv } = await ownUpstreamName(ends);
  const teams = provided.map(({ row }) => row.name);
  const system = await startSystem({ teams, demos: true, gatewayEnv });
  ends.push(system.stop);
  const { dnsPort } = system.cloud;
  const authority = needAuthority ? await startPebble(ends, await pebble(), { dnsPort, trusted }) : null;
  around = {
    system,
    endpoint: ({ token }) => ({ HCLOUD_ENDPOINT: system.url, HCLOUD_TOKEN: token }),
    builtIn: clientEnv,
    authority: () => authority?.env ?? {},
  };
});
afterAll(() => undo(ends));

for (const each of provided) {
  describeClient(each, () => around);
  if (each.row.name === 'external-dns') describeExternalDns(each, () => around);
  if (each.row.name === 'dnscontrol') describeDnscontrol(each, () => around);
}
