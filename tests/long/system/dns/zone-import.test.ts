import { teamStore } from '@corral/auth';
import { type RunningProcess, startProcess, waitFor } from '@corral/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { callDns } from '../../../support/clients/dns-api.js';
import { type LocalCloud, startLocalCloud } from '../../../support/system/local-cloud.js';
import { builtFile, type Program, runAdmin } from '../../../support/system/program.js';
import { issueToken } from '../../../support/system/start-system.js';
import {
  type Ends,
  type Gateway,
  gateway,
  ownDatabase,
  ownPool,
  reconciler,
  startAll,
  undo,
  withPrisma,
  ZONE,
} from '../../../support/system/system-parts.js';

/** How many sets the zone has at each label before Corral manages it. */
const SETS: Readonly<Record<string, number>> = {
  acme: 150,
  globex: 100,
  shop: 40,
  legacy: 2_700,
  www: 7,
  _domainkey: 3,
};
/** These, and two at the apex: SOA and NS. */
const TOTAL = 3_002;
/** The page at which the first reconciler is killed. */
const KILLED_AT = 12;

const ends: Ends = [];
let cloud: LocalCloud;
let worker: Program;
let dns: Gateway;
let env: Record<string, string>;
let pool: ReturnType<typeof ownPool>;
let databaseUrl: string;
/** A token of acme. */
let token: string;

beforeAll(async () => {
  databaseUrl = await ownDatabase(ends);
  pool = ownPool(databaseUrl, ends);
  cloud = await startLocalCloud({ actionMs: 50, requestsPerHour: 3_600 });
  ends.push(() => cloud.program.stop());
  await withPrisma(databaseUrl, async (prisma) => {
    for (const slug of ['globex', 'acme']) await teamStore(prisma).createTeam(slug);
  });
  token = await issueToken(databaseUrl, 'acme');
  for (const [label, count] of Object.entries(SETS)) {
    const puts = Array.from({ length: count }, (_, index) => () => put(`h${index}.${label}`, '192.0.2.1'));
    while (puts.length > 0) await Promise.all(puts.splice(0, 50).map((each) => each()));
  }
  env = { DATABASE_URL: databaseUrl, DNS_ZONE_NAME: ZONE };
  const shared = { ...env, HCLOUD_API_URL: cloud.apiUrl, HCLOUD_TOKEN: cloud.token, LOG_LEVEL: 'info' };
  const patient = { UPSTREAM_TIMEOUT_MS: '60s', DNS_SYNC_INTERVAL_MS: '1h', JOB_LOCK_MS: '2s' };
  worker = await reconciler(1, { env: { ...shared, ...patient } });
  dns = await gateway(1, shared);
});
afterAll(() => undo(ends));

const put = (name: string, value: string) => cloud.putRrset(name, 'A', { records: [{ value }] });

const startAdmin = (...args: string[]): Promise<RunningProcess> =>
  startProcess({ command: process.execPath, args: [builtFile('apps/admin/dist/main.js'), ...args], env });

// biome-ignore lint/suspicious/noExplicitAny: results of many shapes
const admin = async (...args: string[]): Promise<any> => JSON.parse(await runAdmin(['--json', ...args], env));

const rows = async (sql: string) => (await pool.query(sql)).rows;
const drifts = () => rows(`SELECT name FROM dns_audit_entry WHERE operation = 'drift' AND name <> '@' ORDER BY id`);

it('a zone is imported, its teams see manual changes, and a later team gets the sets at its name', async () => {
  await takeOver();
  await changeByHand();
  await comeLater();
}, 360_000);

/** The import survives kills, and reads each page once. */
async function takeOver(): Promise<void> {
  await cloud.addFaults({ match: { path: `rrsets\\?.*page=${KILLED_AT}(&|$)` }, times: null, effect: { hang: true } });
  await startAll([worker], ends);
  await waitFor('the import to stand still', async () => {
    const [run] = await rows('SELECT next_page FROM dns_sync_run');
    return run?.next_page === KILLED_AT;
  });

  const interrupted = await startAdmin('zone', 'import');
  await waitFor('the operator to follow it', () => interrupted.output().includes('The sync is running'));
  interrupted.kill('SIGKILL');
  await worker.kill();
  await cloud.clearFaults();
  const following = [admin('zone', 'import'), admin('zone', 'import')];
  await startAll([worker], ends);
  const [report, same] = await Promise.all(following);

  expect(report).toMatchObject({
    rrsetsSeen: TOTAL,
    added: TOTAL,
    changed: 0,
    removed: 0,
    skipped: 0,
    ownerlessRrsets: 2_752,
    teams: [
      { team: 'acme', rrsets: 150, records: 150, isOverQuota: false },
      { team: 'globex', rrsets: 100, records: 100, isOverQuota: false },
    ],
  });
  const whys = new Map<string, number>();
  for (const { why } of report.ownerless) whys.set(why, (whys.get(why) ?? 0) + 1);
  expect(Object.fromEntries(whys)).toEqual({ apex: 2, reserved: 7, 'no team name': 3, 'no team yet': 2_740 });
  expect(same.runId).toBe(report.runId);
  expect(linesOf(worker, 'zone sync resumed')).toEqual([
    expect.objectContaining({ runId: report.runId, page: KILLED_AT }),
  ]);
  const calls = await cloud.calls();
  expect(Object.keys(calls).filter((route) => !route.startsWith('GET '))).toEqual([]);
  expect(await drifts()).toEqual([]);
}

/** Teams learn of manual changes at the next sync, and immediately when they write to the set. */
async function changeByHand(): Promise<void> {
  await startAll([dns], ends);
  const path = (name: string) => `/zones/${ZONE}/rrsets/${name}/A`;
  const seen = async (name: string): Promise<string | number> => {
    const { status, json } = await callDns(dns.url, { method: 'GET', path: path(name), token });
    return status === 200 ? json.rrset.records[0].value : status;
  };
  await put('h1.acme', '192.0.2.99');
  await put('extra.acme', '192.0.2.50');
  await cloud.admin('DELETE', `/rrsets/${ZONE}/h2.acme/A`);
  await put('h5.legacy', '192.0.2.98');

  await admin('zone', 'sync');

  expect([await seen('h1.acme'), await seen('extra.acme'), await seen('h2.acme')]).toEqual([
    '192.0.2.99',
    '192.0.2.50',
    404,
  ]);
  expect(worker.output()).not.toMatch(/192\.0\.2\.(50|98|99)/);

  await put('late.acme', '192.0.2.77');
  const body = { name: 'late.acme', type: 'A', records: [{ value: '192.0.2.1' }] };
  const refused = await callDns(dns.url, { method: 'POST', path: `/zones/${ZONE}/rrsets`, token, body });
  expect([refused.status, await seen('late.acme')]).toEqual([409, '192.0.2.77']);

  expect(await admin('zone', 'sync')).toMatchObject({ added: 0, changed: 0, removed: 0 });
  const { entries } = await admin('audit', 'acme');
  const found = entries.filter(({ actor }: { actor: string }) => actor === 'upstream');
  expect(
    found.map(({ name, operation }: { name: string; operation: string }) => `${operation} ${name}`).sort(),
  ).toEqual(['drift extra.acme', 'drift h1.acme', 'drift h2.acme', 'drift late.acme']);
  expect(await drifts()).toHaveLength(5);
}

async function comeLater(): Promise<void> {
  expect(await admin('team', 'create', 'shop')).toMatchObject({ rrsets: 40, records: 40 });

  const { json } = await callDns(dns.url, {
    method: 'GET',
    path: `/zones/${ZONE}/rrsets`,
    token: await issueToken(databaseUrl, 'shop'),
  });

  expect(json.meta.pagination.total_entries).toBe(40);
}

// biome-ignore lint/suspicious/noExplicitAny: lines of many shapes
function linesOf(program: Program, message: string): any[] {
  const lines = program.output().split('\n');
  return lines.filter((line) => line.includes(`"${message}"`)).map((line) => JSON.parse(line));
}
