import { type FlakyProxy, startFlakyProxy, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Answer } from '../../support/clients/answer.js';
import { callDns } from '../../support/clients/dns-api.js';
import {
  type ClusterSystem,
  type ClusterTeam,
  startClusterSystem,
} from '../../support/clusters/start-cluster-system.js';
import type { Gateway } from '../../support/system/system-parts.js';
import { type Ends, ownDatabase, undo, ZONE } from '../../support/system/system-parts.js';

/** The name of the connection on which the gateway learns of revocations. */
const LISTENING = 'dns-gateway tokens';

const ends: Ends = [];
let system: ClusterSystem;
let proxy: FlakyProxy;

/** A cluster API and two gateways. The second gateway reaches Postgres through a proxy. */
beforeAll(async () => {
  const databaseUrl = await ownDatabase(ends);
  const address = new URL(databaseUrl);
  proxy = await startFlakyProxy({ host: address.hostname, port: Number(address.port) });
  ends.push(() => proxy.close());
  address.host = `127.0.0.1:${proxy.port}`;
  system = await startClusterSystem({
    databaseUrl,
    gateways: 2,
    teams: ['acme', 'globex'],
    gatewayEnv: (index) => (index === 2 ? { DATABASE_URL: address.toString(), DATABASE_PASSWORD: '' } : {}),
  });
  ends.push(system.stop);
});
/** A gateway that is not notified of revocations caches no tokens, and a test of the notification would show nothing. */
beforeEach(async () => {
  await waitFor('both gateways to listen', async () => {
    const { rows } = await system.pool.query(
      `SELECT query FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = $1 AND query ~ '^(LISTEN|SELECT 1)'`,
      [LISTENING],
    );
    expect(rows).toHaveLength(system.gateways.length);
    return true;
  });
});
afterEach(async () => {
  proxy.restore();
  await Promise.all(system.gateways.map((gateway) => gateway.start()));
  await Promise.all(system.gateways.map((gateway) => gateway.untilReady()));
});
afterAll(() => undo(ends));

const team = (at: number): ClusterTeam => system.teams[at] as ClusterTeam;

async function makeToken({ member }: ClusterTeam, body: object): Promise<{ id: string; token: string }> {
  const { status, json } = await member.send({ method: 'POST', path: '/dns-tokens/', body });
  expect(status).toBe(201);
  return json as { id: string; token: string };
}
const write = ({ url }: Gateway, token: string, name: string): Promise<Answer> =>
  callDns(url, {
    method: 'POST',
    path: `/zones/${ZONE}/rrsets`,
    token,
    body: { name, type: 'TXT', records: [{ value: '"from a test"' }] },
  });

describe('a token that a member creates', () => {
  it('works at every gateway within its narrowed name, and everything it did can be looked up', async () => {
    const acme = team(0);
    const [one, two] = system.gateways as [Gateway, Gateway];
    const { id, token } = await makeToken(acme, { name: 'ci', withinName: 'ci.acme', withinTypes: ['TXT'] });

    const written = [await write(one, token, 'ci.acme'), await write(two, token, 'x.ci.acme')];
    const refused = [await write(one, token, 'www.acme'), await write(two, token, 'ci.globex')];

    expect([...written, ...refused].map(({ status }) => status)).toEqual([201, 201, 403, 403]);
    const log = await acme.admin.send({ method: 'GET', path: `/audit/?token=${id}` });
    expect(log.json.items).toMatchObject([
      ...['ci.globex', 'www.acme'].map((name) => ({
        outcome: 'unsent',
        dns: { name, refusalCode: 'forbidden', count: 1 },
      })),
      {
        action: 'dns.create',
        outcome: 'completed',
        actor: { name: 'ci' },
        dns: { name: 'x.ci.acme', upstreamStatus: 201 },
      },
      { dns: { name: 'ci.acme', requestBody: { records: [{ value: '"from a test"' }] } } },
    ]);
    const foreign = await team(1).admin.send({ method: 'GET', path: '/audit/export/' });
    expect(foreign.text).not.toContain('acme');

    for (const gateway of system.gateways) await gateway.stop(); // at the latest now they write what they counted
    const usage = await acme.member.send({ method: 'GET', path: '/dns-usage/' });
    expect(usage.json).toMatchObject({
      records: { used: 2, reserved: 0 },
      tokens: { active: 1, limit: 5 },
      requests: { lastHour: 4 },
      upstream: { observedAt: expect.any(String) },
    });
  });
});
