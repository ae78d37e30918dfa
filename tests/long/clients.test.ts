import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@corral/testing';
import { afterAll, beforeAll } from '@jest/globals';
import {
  builtInAddress,
  certifyUpstreamName,
  tlsOfUpstreamName,
  UPSTREAM_NAME,
} from '../support/clients/built-in-name.js';
import { pebble } from '../support/clients/client-programs.js';
import { type ForwardProxy, startForwardProxy } from '../support/clients/forward-proxy.js';
import { describeClient, provide, type Surroundings } from '../support/clients/matrix/describe-clients.js';
import { describeDnscontrol } from '../support/clients/matrix/dnscontrol.js';
import { describeExternalDns } from '../support/clients/matrix/external-dns.js';
import { clientRows } from '../support/clients/matrix/rows.js';
import { type Pebble, startPebble } from '../support/clients/pebble.js';
import { type System, startSystem } from '../support/system/start-system.js';

/* Every client of the table, with its own team. `CORRAL_CLIENTS=lego,certbot` tries these only. */

const chosen = process.env.CORRAL_CLIENTS?.split(',');
const provided = await provide(clientRows.filter(({ name }) => chosen === undefined || chosen.includes(name)));
const needAuthority = provided.some(({ row, client }) => row.story === 'certificates' && client.kind === 'found');

let folder: string;
let system: System;
let proxy: ForwardProxy;
let authority: Pebble | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-clients-'));
  await certifyUpstreamName(folder);
  const tlsPort = await freePort();
  const teams = provided.map(({ row }) => row.name);
  system = await startSystem({ teams, demos: true, gatewayEnv: tlsOfUpstreamName(folder, tlsPort) });
  proxy = await startForwardProxy(`${UPSTREAM_NAME}:443`, tlsPort);
  if (needAuthority) {
    const trusted = join(folder, 'ca.pem');
    authority = await startPebble(await pebble(), { dnsPort: system.cloud.dnsPort, trusted });
  }
});
afterAll(async () => {
  await authority?.stop();
  await proxy?.stop();
  await system?.stop();
  await rm(folder, { recursive: true, force: true });
});

const surroundings = (): Surroundings => ({
  system,
  endpoint: ({ token }) => ({ HCLOUD_ENDPOINT: system.url, HCLOUD_TOKEN: token }),
  builtIn: ({ token }) => builtInAddress(folder, { proxyUrl: proxy.url, token }),
  authority: () => authority?.env ?? {},
});
for (const each of provided) {
  describeClient(each, surroundings);
  if (each.row.name === 'external-dns') describeExternalDns(each, surroundings);
  if (each.row.name === 'dnscontrol') describeDnscontrol(each, surroundings);
}
