import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeNeeding, freePort } from '@corral/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  builtInAddress,
  certifyUpstreamName,
  tlsOfUpstreamName,
  UPSTREAM_NAME,
} from '../support/clients/built-in-name.js';
import { missingOf, pebble } from '../support/clients/client-programs.js';
import { type ForwardProxy, startForwardProxy } from '../support/clients/forward-proxy.js';
import { playCertificates } from '../support/clients/matrix/certificates-story.js';
import { provide, stageOf } from '../support/clients/matrix/describe-clients.js';
import { clientRows } from '../support/clients/matrix/rows.js';
import { apply, type Stage } from '../support/clients/matrix/stage.js';
import { type Pebble, startPebble } from '../support/clients/pebble.js';
import { type System, startSystem, ZONE } from '../support/system/start-system.js';
import type { Env } from '../support/system/system-parts.js';

/** Longer than certbot waits beyond the end of the action. */
const LATE_MS = 4_000;

const [certbot] = await provide(clientRows.filter(({ name }) => name === 'certbot'));
if (certbot === undefined) throw new Error('The table of clients has no certbot.');
const { row, client } = certbot;

describeNeeding(describe, missingOf(client), 'name servers that answer late', () => {
  let folder: string;
  let system: System;
  let proxy: ForwardProxy;
  let authority: Pebble;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corral-propagation-'));
  });
  afterEach(async () => {
    await authority?.stop();
    await proxy?.stop();
    await system?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function certbotBeside(settings: (dnsPort: number) => Env): Promise<Stage> {
    await certifyUpstreamName(folder);
    const tlsPort = await freePort();
    system = await startSystem({
      teams: [row.name],
      demos: true,
      gatewayEnv: (_index, { dnsPort }) => ({ ...tlsOfUpstreamName(folder, tlsPort), ...settings(dnsPort) }),
    });
    await system.cloud.admin('POST', '/name-server', { delayMs: LATE_MS });
    proxy = await startForwardProxy(`${UPSTREAM_NAME}:443`, tlsPort);
    authority = await startPebble(await pebble(), { dnsPort: system.cloud.dnsPort, trusted: join(folder, 'ca.pem') });
    const around = {
      system,
      endpoint: () => ({}),
      builtIn: ({ token }: { token: string }) => builtInAddress(folder, { proxyUrl: proxy.url, token }),
      authority: () => authority.env,
    };
    return stageOf({ row, client }, around, join(folder, 'stage'));
  }

  it('have the challenge of an unchanged certbot before the authority looks', async () => {
    const known = (dnsPort: number) => ({ DNS_NAME_SERVERS: `127.0.0.1:${dnsPort},localhost:${dnsPort}` });

    expect(await playCertificates(await certbotBeside(known))).toEqual({ runs: 'first' });
  }, 600_000);

  it('do not have it yet where operators have not listed them', async () => {
    const stage = await certbotBeside(() => ({}));

    const { ok, said } = await apply(stage, { certificates: [[`${stage.team.slug}.${ZONE}`]] });

    expect({ ok, said }).toEqual({
      ok: false,
      said: expect.stringMatching(/(Error retrieving|No|Incorrect) TXT record/),
    });
  }, 600_000);
});
