import { Agent } from 'node:http';
import { dnsTokenStore, teamStore, userStore } from '@corral/auth';
import { connectPrisma, type Pool } from '@corral/database';
import { writeZone } from '@corral/local-cloud';
import { waitFor } from '@corral/testing';
import { clusterSpec } from '../rig/cluster-spec.js';
import { mustExchange } from '../rig/exchange.js';
import type { Rig } from '../rig/rig.js';
import { CLOUD_TOKEN, type services, ZONE } from '../rig/services.js';
import { fillAudit } from './fill-audit.js';
import { say } from './report.js';
import { signInAll } from './sign-in.js';
import { clusterOf, emailOf, type Size, setOf, slugOf } from './sizes.js';

const ZONE_ID = 7001;
const AT_ONCE = 12;
const HOUR_MS = 3_600_000;

/** Gives the imitated upstream the record sets of all teams, so that it has them when it starts. */
export function writeUpstreamSets(dataDir: string, { teams, setsPerTeam }: Size): void {
  const created = '2026-01-01T00:00:00Z';
  const zone = { id: ZONE_ID, name: ZONE, created, ttl: 3600, labels: {}, nameServers: ['ns1.bench.test.'] };
  const records = [{ value: '192.0.2.1', comment: '' }];
  const sets = Array.from({ length: teams * setsPerTeam }, (_, at) => {
    const name = setOf(at % teams, Math.floor(at / teams));
    return { name, type: 'A', ttl: 300, labels: {}, protection: { change: false }, records };
  });
  writeZone(dataDir, zone, sets);
}

/**
 * Makes what the size says: teams and tokens as operators make them, connections and clusters through the API, record sets by the
 * walk of a reconciler. Only the entries of the audit log are inserted.
 *
 * @returns the DNS token of each team
 */
export async function fill(rig: Rig, start: ReturnType<typeof services>, size: Size): Promise<string[]> {
  const { pool, databaseUrl } = rig;
  const startedAt = performance.now();
  const step = (what: string) => say(`  ${((performance.now() - startedAt) / 1_000).toFixed(0)} s: ${what}`);
  step(`${size.teams} teams`);
  const tokens = await makeTeams(databaseUrl, size);
  const [api, reconciler] = await Promise.all([start.clusterApi(), start.reconciler()]);
  step(`${size.clusters} clusters are declared`);
  await declareAll(api.url, await signInAll(pool, size), size);
  step('the zone is imported, clusters converge');
  await untilSteady(pool, size);
  await Promise.all([api.process.stop(), reconciler.process.stop()]);
  step(`${size.auditEntries} audit entries`);
  await fillAudit(pool, size);
  await pool.query('VACUUM ANALYZE');
  await pool.query('CHECKPOINT');
  step('done');
  return tokens;
}

async function makeTeams(databaseUrl: string, { teams }: Size): Promise<string[]> {
  const prisma = connectPrisma(databaseUrl);
  const [store, users, dnsTokens] = [teamStore(prisma), userStore(prisma), dnsTokenStore(prisma)];
  const tokens: string[] = [];
  try {
    await inTurns(teams, async (at) => {
      const team = await store.createTeam(slugOf(at));
      await users.saveMember(team, await users.createUser({ email: emailOf(at) }), 'admin');
      tokens[at] = (await dnsTokens.issueToken(team, { name: 'main' })).token;
    });
  } finally {
    await prisma.$disconnect();
  }
  return tokens;
}

async function declareAll(apiUrl: string, cookies: readonly string[], size: Size): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const put = (team: number, path: string, spec: object) => {
    const url = `${apiUrl}/api/v1/teams/${slugOf(team)}/${path}/`;
    return mustExchange({ url, method: 'PUT', headers: { cookie: cookies[team] as string }, body: { spec } }, agent);
  };
  await inTurns(size.teams, (team) => put(team, 'connections/main', { provider: 'hcloud', token: CLOUD_TOKEN }));
  await inTurns(size.clusters, (cluster) => {
    const { team, name } = clusterOf(size, cluster);
    return put(team, `clusters/${name}`, clusterSpec(3));
  });
  agent.destroy();
}

/** Waits until the zone is in the mirror, all clusters have converged, and their nodes are counted. */
async function untilSteady(pool: Pool, { teams, setsPerTeam }: Size): Promise<void> {
  const isSteady = async (): Promise<boolean> => {
    const { rows } = await pool.query<{ open: number; sets: number }>(
      `SELECT (SELECT count(*)::int FROM cluster WHERE observed_generation < generation OR due_at IS NOT NULL
                                                      OR nodes_due_at <= now() + interval '1 minute') AS open,
              (SELECT count(*)::int FROM dns_rrset WHERE type = 'A') AS sets`,
    );
    return rows[0]?.open === 0 && rows[0].sets >= teams * setsPerTeam;
  };
  await waitFor('the installation to be steady', isSteady, { timeoutMs: HOUR_MS });
}

/** Acts on 0, 1, … `count - 1`, on `AT_ONCE` of them at a time. */
async function inTurns(count: number, act: (at: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
