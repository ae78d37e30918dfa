import { describeNeeding } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ownUpstreamName } from '../support/clients/built-in-name.js';
import { missingOf, pebble } from '../support/clients/client-programs.js';
import { playCertificates } from '../support/clients/matrix/certificates-story.js';
import { provide, stageOf } from '../support/clients/matrix/describe-clients.js';
import { clientRows } from '../support/clients/matrix/rows.js';
import { apply, type Stage } from '../support/clients/matrix/stage.js';
import { startPebble } from '../support/clients/pebble.js';
import { startSystem, ZONE } from '../support/system/start-system.js';
import { type Ends, type Env, ownFolder, undo } from '../support/system/system-parts.js';

/** Longer than certbot waits beyond the end of the action. */
const LATE_MS = 4_000;

const [certbot] = await provide(clientRows.filter(({ name }) => name === 'certbot'));
if (certbot === undefined) throw new Error('The table of clients has no certbot.');
const { row, client } = certbot;

describeNeeding(describe, missingOf(client), 'name servers that answer late', () => {
  const ends: Ends = [];
  afterEach(() => undo(ends));

  async function certbotBeside(settings: (dnsPort: number) => Env): Promise<Stage> {
    const name = await ownUpstreamName(ends);
    const system = await startSystem({
      teams: [row.name],
      demos: true,
      gatewayEnv: (_index, { dnsPort }) => ({ ...name.gatewayEnv, ...settings(dnsPort) }),
    });
    ends.push(system.stop);
    const { dnsPort } = system.cloud;
    await system.cloud.admin('POST', '/name-server', { delayMs: LATE_MS });
    const authority = await startPebble(ends, await pebble(), { dnsPort, trusted: name.authority });
    const around = { system, endpoint: () => ({}), builtIn: name.clientEnv, authority: () => authority.env };
    return stageOf({ row, client }, around, await ownFolder(ends));
  }

  it('have the challenge of an unchanged certbot before the authority looks', async () => {
    const known = (dnsPort: number) => ({ DNS_NAME_SERVERS: `127.0.0.1:${dnsPort},localhost:${dnsPort}` });

    expect(await playCertificates(await certbotBeside(known))).toBe('first');
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
