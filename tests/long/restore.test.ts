import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connectPool } from '@corral/database';
import { createEmptyDatabase, type TestDatabase, waitFor } from '@corral/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { callDns } from '../support/clients/dns-api.js';
import { signIn, type TeamClient, teamClient } from '../support/clusters/client.js';
import { aCluster, aPool, change } from '../support/clusters/journey.js';
import { adoptServer, heldServers, makeServer } from '../support/clusters/server-journey.js';
import { type ClusterSystem, startClusterSystem } from '../support/clusters/start-cluster-system.js';
import { builtFile, runAdmin } from '../support/system/program.js';
import { type Ends, ownFolder, undo, ZONE } from '../support/system/system-parts.js';

/*
 * The runbook `restore-a-backup` under load: a backup is taken in the middle of writes, the database is destroyed, and the
 * backup is restored into a world that went on. Nothing may change outside before an operator resumes, and nothing may be
 * repeated, doubled or deleted after it.
 */

const WRITERS = 3;
const THINK_MS = 30;
/** Longer than the backup takes: the write is under way in it. */
const SLOW_WRITE_MS = 8_000;

const ends: Ends = [];
let system: ClusterSystem;
let database: TestDatabase;
beforeAll(async () => {
  database = await createEmptyDatabase();
  ends.push(() => database.drop());
  await admin('migrate');
  system = await startClusterSystem({
    databaseUrl: database.url,
    gateways: 1,
    gatewayEnv: () => ({ WRITE_WAIT_MS: '60s' }),
    // Everything is read again within the test.
    reconcilerEnv: { GARDEN_RELIST_INTERVAL_MS: '5s', DNS_SYNC_INTERVAL_MS: '5s' },
  });
  ends.push(system.stop);
}, 300_000);
afterAll(() => undo(ends));

const admin = (...args: string[]): Promise<string> =>
  runAdmin(args, {
    DATABASE_URL: database.url,
    DNS_ZONE_NAME: ZONE,
    MIGRATIONS_DIR: builtFile('prisma/migrations'),
  });

/** Runs statements as an operator does, from outside of the installation. */
async function onServer(name: string, ...statements: string[]): Promise<void> {
  const url = new URL(database.url);
  url.pathname = `/${name}`;
  const pool = connectPool({ databaseUrl: url.toString(), applicationName: 'operator', onIdleError: () => undefined });
  try {
    for (const statement of statements) await pool.query(statement);
  } finally {
    await pool.end();
  }
}

const services = () => [...system.gateways, ...system.apis, ...system.reconcilers];
const rrsets = `/zones/${ZONE}/rrsets`;
const post = (token: string, path: string, body: object) =>
  callDns(system.gateways[0]?.url as string, { method: 'POST', path: `${rrsets}${path}`, token, body });
const createSet = (token: string, name: string, value: string) =>
  post(token, '', { name, type: 'A', records: [{ value }] });
const setRecords = (token: string, name: string, value: string) =>
  post(token, `/${name}/A/actions/set_records`, { records: [{ value }] });

/** Writes until it is stopped. A write without an answer may have taken effect: it is not counted. */
function startWriters(token: string) {
  let isStopping = false;
  let accepted = 0;
  const writer = async (index: number): Promise<void> => {
    await createSet(token, `w${index}.acme`, '192.0.2.1');
    for (let turn = 1; !isStopping; turn += 1) {
      const answer = await setRecords(token, `w${index}.acme`, `198.51.100.${turn % 250}`).catch(() => null);
      if (answer?.status === 201) accepted += 1;
      await pause(THINK_MS);
    }
  };
  const all = Array.from({ length: WRITERS }, (_, index) => writer(index));
  return {
    untilMore: async (count: number): Promise<void> => {
      const goal = accepted + count;
      await waitFor('accepted writes', () => accepted >= goal);
    },
    async stop(): Promise<void> {
      isStopping = true;
      await Promise.all(all);
    },
  };
}

/** What is outside: writes at the upstream, Shoots and how many there ever were, servers and how often they were rebuilt. */
async function readWorld() {
  const shoots = await system.garden.shoots();
  return {
    writes: (await system.cloud.writes()).length,
    zone: [...(await system.cloud.stated())].sort(),
    shoots: shoots.map(({ metadata, spec }) => [metadata.name, metadata.uid, spec]).sort(),
    lives: (await system.garden.lives()).length,
    servers: (await heldServers(system)).map(({ id, rebuilds, labels }) => [id, rebuilds, labels]),
  };
}

interface Report {
  readonly hold: { readonly id: string };
  readonly isComplete: boolean;
  readonly missing: readonly string[];
  readonly writes: { readonly pending: number };
  readonly findings: readonly { readonly kind: string; readonly name: string; readonly finding: string }[];
}
const readReport = async (): Promise<Report> => JSON.parse(await admin('--json', 'hold', 'report')) as Report;
const untilReport = () =>
  waitFor('the report to be complete', async () => {
    const report = await readReport();
    if (!report.isComplete) throw new Error(report.missing.join(' '));
    return report;
  });

const ageOfBackup = async (): Promise<number> => {
  const text = await (await fetch(system.reconcilers[0]?.metricsUrl as string)).text();
  return Number(/^corral_backup_age_seconds\{.*\} (\S+)$/m.exec(text)?.[1]);
};

async function restart(): Promise<void> {
  for (const service of services()) await service.start();
  for (const service of services()) await service.untilReady();
}

/** Sessions do not survive a restore. */
async function signInAgain(): Promise<TeamClient> {
  const bases = system.apis.map(({ base }) => base);
  return teamClient({ bases, team: 'acme', cookie: await signIn(bases[0] as string, 'admin@acme.test') });
}

it('a backup is restored into a world that went on, and nothing is repeated, doubled or deleted', async () => {
  const team = system.teams[0] as ClusterSystem['teams'][number];
  const token: string = (await team.admin.insist({ method: 'POST', path: '/dns-tokens/', body: { name: 'restore' } }))
    .json.token;
  for (const name of ['kept', 'changed', 'deleted', 'by-hand']) await createSet(token, `${name}.acme`, '192.0.2.1');
  for (const name of ['kept', 'changed', 'deleted']) {
    await change(team.admin, 'PUT', `/clusters/${name}/`, aCluster(system));
  }
  const spec = await makeServer(system, team);
  expect((await adoptServer(team.admin, spec)).state).toBe('succeeded');

  // The backup is taken while writes and the change of a cluster are under way.
  const writers = startWriters(token);
  await writers.untilMore(20);
  await system.cloud.addFaults({
    match: { method: 'POST', path: '/rrsets$' },
    times: 1,
    effect: { delayMs: SLOW_WRITE_MS },
  });
  const slow = createSet(token, 'slow.acme', '192.0.2.9');
  await waitFor('the slow write to be under way', async () => {
    const { rowCount } = await system.pool.query(
      "SELECT FROM dns_audit_entry WHERE state = 'pending' AND name = 'slow.acme'",
    );
    return rowCount === 1;
  });
  await team.admin.insist({ method: 'PUT', path: '/clusters/under-way/', body: aCluster(system) });
  const backup = join(await ownFolder(ends), 'before.backup');
  expect(await ageOfBackup()).toBeNaN();
  await admin('backup', backup);
  expect(await ageOfBackup()).toBeLessThan(600);

  // The world goes on.
  expect((await slow).status).toBe(201);
  await writers.untilMore(20);
  await writers.stop();
  await createSet(token, 'later.acme', '192.0.2.2');
  await setRecords(token, 'changed.acme', '192.0.2.3');
  await callDns(system.gateways[0]?.url as string, { method: 'DELETE', path: `${rrsets}/deleted.acme/A`, token });
  await system.cloud.putRrset('by-hand.acme', 'A', { records: [{ value: '203.0.113.7' }] });
  await change(team.admin, 'PUT', '/clusters/later/', aCluster(system));
  await change(team.admin, 'PUT', '/clusters/changed/', aCluster(system, { nodePools: [aPool({ maximum: 3 })] }));
  await change(team.admin, 'DELETE', '/clusters/deleted/');
  await waitFor('the last operation to end', async () => {
    const { rowCount } = await system.pool.query('SELECT FROM operation WHERE finished_at IS NULL');
    return rowCount === 0;
  });

  // Everything of the installation is lost.
  for (const service of services()) await service.kill();
  const lost = new URL(database.url).pathname.slice(1);
  await onServer('postgres', `DROP DATABASE ${lost} WITH (FORCE)`, `CREATE DATABASE ${lost} TEMPLATE template0`);
  await onServer(lost, 'CREATE TABLE of_others (id INT)');
  await expect(admin('restore', backup)).rejects.toThrow('ended with 1');
  await onServer(lost, 'DROP TABLE of_others');
  await admin('restore', backup);
  const before = await readWorld();
  await restart();

  // During the hold, reads work and changes are refused.
  expect((await createSet(token, 'refused.acme', '192.0.2.1')).status).toBe(503);
  const member = await signInAgain();
  expect((await member.send({ method: 'GET', path: '/clusters/' })).status).toBe(200);
  expect((await member.send({ method: 'PUT', path: '/clusters/new/', body: aCluster(system) })).status).toBe(503);
  await system.reconcilers[0]?.kill();
  await system.reconcilers[0]?.start();
  const report = await untilReport();
  const findings = new Map(report.findings.map(({ kind, name, finding }) => [`${kind} ${name}`, finding]));
  expect(Object.fromEntries(findings)).toMatchObject({
    'Cluster kept': 'as_recorded',
    'Cluster changed': 'shoot_ahead',
    'Cluster deleted': 'shoot_absent',
  });
  expect([...findings].filter(([, finding]) => finding === 'unknown_shoot')).toHaveLength(1);
  expect(findings.get(`AdoptedServer ${spec.serverID}`)).toBe('as_recorded');
  expect(report.writes.pending).toBe(0);
  expect(await readWorld()).toEqual(before);
  expect(await mirror()).toEqual(await zoneOfTeam());

  // The hold ends, and the reconciler is killed while it goes back to work.
  await admin('resume', report.hold.id);
  await system.reconcilers[0]?.kill();
  await system.reconcilers[0]?.start();
  await system.reconcilers[0]?.untilReady();
  await expect(admin('resume', report.hold.id)).rejects.toThrow('No hold is in force');
  await untilQuiet();

  const after = await readWorld();
  expect(after.writes).toBe(before.writes);
  expect(after.zone).toEqual(before.zone);
  expect(after.lives).toBe(before.lives);
  expect(after.servers).toEqual(before.servers);
  const declarations = (world: typeof after) =>
    new Map(world.shoots.map(([shoot, uid, declaration]) => [`${shoot} ${uid}`, declaration]));
  for (const [shoot, declaration] of declarations(before)) expect(declarations(after).get(shoot)).toEqual(declaration);

  // The installation works: writes, declarations, and a cluster whose team declares again.
  expect((await createSet(token, 'again.acme', '192.0.2.4')).status).toBe(201);
  expect((await change(member, 'PUT', '/clusters/changed/', aCluster(system))).state).toBe('succeeded');
  expect((await readWorld()).lives).toBe(before.lives);
}, 600_000);

/** Every due pass has run after the hold, and nothing is under way. */
const untilQuiet = () =>
  waitFor('passes over everything', async () => {
    const { rows } = await system.pool.query<{ open: number }>(
      `SELECT (SELECT count(*) FROM cluster WHERE due_at <= clock_timestamp() OR lease_until IS NOT NULL)
            + (SELECT count(*) FROM adopted_server WHERE due_at <= clock_timestamp() OR lease_until IS NOT NULL)
            + (SELECT count(*) FROM dns_audit_entry WHERE state = 'pending') AS open`,
    );
    return Number(rows[0]?.open) === 0;
  });

/** The values of the team's sets, as the gateway and the upstream have them. */
async function mirror(): Promise<Record<string, string[]>> {
  const { rows } = await system.pool.query<{ name: string; body: { records: { value: string }[] } }>(
    "SELECT name, body::jsonb AS body FROM dns_rrset WHERE owner_label = 'acme'",
  );
  return Object.fromEntries(rows.map(({ name, body }) => [name, body.records.map(({ value }) => value).sort()]));
}

async function zoneOfTeam(): Promise<Record<string, string[]>> {
  const stated = [...(await system.cloud.stated())].filter(([id]) => /(^|\.)acme\//.test(id));
  return Object.fromEntries(
    stated.map(([id, text]) => {
      const { records } = JSON.parse(text) as { records: { value: string }[] };
      return [id.slice(0, id.indexOf('/')), records.map(({ value }) => value).sort()];
    }),
  );
}
