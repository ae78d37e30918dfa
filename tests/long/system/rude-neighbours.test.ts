import { fileURLToPath } from 'node:url';
import { startProcess } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { signIn } from '../../support/clusters/client.js';
import { aCluster, untilPhase } from '../../support/clusters/journey.js';
import {
  type ClusterSystem,
  type ClusterTeam,
  startClusterSystem,
} from '../../support/clusters/start-cluster-system.js';
import {
  actPolitely,
  type PoliteCall,
  type PoliteKind,
  percentile,
  type Served,
} from '../../support/neighbours/polite-team.js';
import { ZONE } from '../../support/system/system-parts.js';

/**
 * How long a team is watched beside each neighbour. Without `CORRAL_NEIGHBOURS_SECONDS`, nobody measures its times: other tests
 * run beside this one, and are neighbours, too.
 */
const measured = process.env.CORRAL_NEIGHBOURS_SECONDS;
const SECONDS = Number(measured ?? 2);
/** The polite team sends so many requests of all kinds together, which is within the limits of one token. */
const PER_SECOND = 4;
const P95_TIMES = 3;
/** A multiple of a shorter time says nothing. */
const P95_FREE_MS = 50;
const WORST_MS = 500;
/** Clusters, and record sets, of each team. */
const EACH = 3;

const ACT_RUDELY = fileURLToPath(new URL('../../support/neighbours/act-rudely.ts', import.meta.url));
const DEFAULTS = { LIMIT_PER_ADDRESS: undefined, CONNECTIONS_PER_ADDRESS: undefined } as const;

const all = JSON.parse(await actRudely('names', {})) as string[];
/** Beside other tests there is one neighbour, of which both services get requests. */
const names = measured === undefined ? ['slow connections, 300 to each service'] : all;
let system: ClusterSystem;
let polite: Tenant;
let rude: Tenant;
const alone: Served[] = [];

interface Tenant {
  readonly team: ClusterTeam;
  readonly token: string;
  readonly cookie: string;
  /** The address of this machine from which its requests come. */
  readonly address: string;
}

beforeAll(async () => {
  system = await startClusterSystem({
    gateways: 1,
    teams: ['polite', 'rude'],
    apiEnv: { ...DEFAULTS, LIMIT_PER_PERSON: undefined },
    gatewayEnv: () => ({ ...DEFAULTS, LIMIT_PER_TOKEN: undefined, LIMIT_PER_TEAM: undefined }),
  });
  [polite, rude] = [await settle('polite', '127.0.1.1'), await settle('rude', '127.0.1.2')];
  await watch(2);
});
afterAll(() => system?.stop());

/** Gives a team what it needs to use both services. */
async function settle(slug: string, address: string): Promise<Tenant> {
  const team = system.teams.find((each) => each.slug === slug) as ClusterTeam;
  const made = await team.member.insist({ method: 'POST', path: '/dns-tokens/', body: { name: 'neighbours' } });
  for (let at = 0; at < EACH; at += 1) {
    await team.member.insist({ method: 'PUT', path: `/clusters/c${at}/`, body: aCluster(system, { nodePools: [] }) });
  }
  const cookie = await signIn(system.apis[0]?.base as string, `member@${slug}.test`);
  const tenant = { team, token: made.json.token as string, cookie, address };
  for (let at = 0; at < EACH; at += 1) {
    const url = `${system.gateways[0]?.url}/zones/${ZONE}/rrsets`;
    const body = JSON.stringify({ name: `w${at}.${slug}`, type: 'A', records: [{ value: '192.0.2.1' }] });
    const headers = { authorization: `Bearer ${tenant.token}`, 'content-type': 'application/json' };
    expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(201);
  }
  await untilPhase(team.member, 'c0', 'Draft');
  return tenant;
}

function politeCall(kind: PoliteKind, index: number): PoliteCall {
  const rrsets = `${system.gateways[0]?.url}/zones/${ZONE}/rrsets`;
  const clusters = `${system.apis[0]?.base}/api/v1/teams/polite/clusters/`;
  const token = { authorization: `Bearer ${polite.token}` };
  const cookie = { cookie: polite.cookie };
  const at = index % EACH;
  switch (kind) {
    case 'DNS reads':
      return { method: 'GET', url: rrsets, headers: token };
    case 'DNS writes': {
      const records = [{ value: `192.0.2.${index % 250}` }];
      return {
        method: 'POST',
        url: `${rrsets}/w${at}.polite/A/actions/set_records`,
        headers: token,
        body: { records },
      };
    }
    case 'cluster reads':
      return { method: 'GET', url: clusters, headers: cookie };
    case 'cluster writes': {
      const body = aCluster(system, { nodePools: [], plan: Math.floor(index / EACH) % 2 ? 'monthly' : 'payg' });
      return { method: 'PUT', url: `${clusters}c${at}/`, headers: cookie, body };
    }
  }
}

const watch = (seconds: number) =>
  actPolitely(politeCall, { seconds, perSecond: PER_SECOND, localAddress: polite.address });

async function actRudely(what: string, rudeTeam: object, seconds = 1): Promise<string> {
  const { output, exited } = await startProcess({
    name: what,
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', ACT_RUDELY, what, String(seconds)],
    env: { RUDE_TEAM: JSON.stringify(rudeTeam) },
  });
  expect(await exited).toEqual({ code: 0, signal: null });
  return output();
}

describe('a team beside a neighbour that sends', () => {
  it.each(names)('%s, is not refused and does not wait', async (name) => {
    const { spec } = aCluster(system, { nodePools: [] });
    const { token, cookie, address } = rude;
    const [gateway, api] = [system.gateways[0]?.base, system.apis[0]?.base];
    if (measured !== undefined) alone.push(...(await watch(SECONDS)));

    const neighbour = actRudely(
      name,
      { gateway, api, zone: ZONE, slug: 'rude', token, cookie, address, sets: EACH, spec },
      SECONDS + 1,
    );
    const beside = await watch(SECONDS);
    const answered = await neighbour;

    process.stderr.write(`${name}: ${answered}\n`);
    expect(beside.flatMap(({ refusals }) => refusals)).toEqual([]);
    if (measured === undefined) return;
    const aloneMs = percentile(
      alone.flatMap(({ durationsMs }) => durationsMs),
      0.95,
    );
    const besideMs = beside.flatMap(({ durationsMs }) => durationsMs);
    expect(percentile(besideMs, 0.95)).toBeLessThanOrEqual(Math.max(P95_FREE_MS, P95_TIMES * aloneMs));
    expect(Math.max(...besideMs)).toBeLessThanOrEqual(WORST_MS);
  });
});
