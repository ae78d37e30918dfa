import { asClusterId, type ServerId } from '@corral/contracts';
import { demoEnds, pollTurns, settlementStore } from '@corral/dns-data';
import type { JobName } from '@corral/queue';
import { createMetrics, silentLog } from '@corral/service';
import { deleteRows } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { buildWorkers, type Workers } from '../src/build-workers.js';
import { clusterTable } from '../src/clusters/workers.js';
import { cleanupStore } from '../src/garden/clean-up.js';
import { countStore } from '../src/garden/count-nodes.js';
import { leaseStore } from '../src/loop/leases.js';
import { findNeeded, type RecurringJob, scheduleJobs } from '../src/loop/recurring.js';
import { mailStore } from '../src/mail/store.js';
import { serverTable } from '../src/servers/workers.js';
import { priceStore } from '../src/upkeep/price-store.js';
import { verificationStore } from '../src/upkeep/verification-store.js';
import { type ClusterRows, openClusterRows, type TestTeam } from './support/cluster-rows.js';

const HOUR_MS = 3_600_000;

let at: ClusterRows;
let workers: Workers;
let team: TestTeam;
beforeAll(async () => {
  at = await openClusterRows();
  workers = buildWorkers({
    ...edges(at),
    dns: dnsDeps,
    clusters: clusterDeps,
    servers: serverDeps,
    mail: mailDeps,
  } as never);
});
afterAll(() => at.close());
beforeEach(async () => {
  await deleteRows(at.pool);
  team = await at.addTeam();
  await addAllKinds();
});

// Recurring jobs are data. Nothing that is connected here is used.
const edges = ({ pool }: ClusterRows) => ({
  pool,
  queue: {},
  backend: {},
  metrics: createMetrics({ service: 'test' }),
  log: silentLog,
  settings: { closeMs: 1, lockMs: 1 },
  retention: { settings: { auditDays: 365 } },
  usage: { settings: { recordsLimit: 1 } },
});
const dnsDeps = {
  hcloud: {},
  settings: { zoneName: 'teams.test', demoZoneName: 'demos.test', actionIntervalMs: 10_000 },
};
const clusterDeps = { keys: {}, garden: {}, settings: { concurrency: 1 } };
const serverDeps = { keys: {}, nodes: null, projects: {}, settings: { concurrency: 1, times: {} } };
const mailDeps = { mailServer: {}, settings: {} };

/** A row of each kind that jobs work on, none of which is due. */
async function addAllKinds(): Promise<void> {
  const later = `now() + interval '1 hour'`;
  const connectionId = await at.addConnection(team);
  await at.declare(team, connectionId);
  await at.pool.query(`UPDATE cluster SET due_at = ${later}, nodes_due_at = ${later}`);
  await at.pool.query(`UPDATE connection SET verify_at = ${later}`);
  await at.pool.query(`INSERT INTO price_list (connection_id, due_at) SELECT id, ${later} FROM connection`);
  await at.pool.query(`INSERT INTO garden_cleanup (namespace, name, due_at) VALUES ('garden-acme', 'old', ${later})`);
  await at.pool.query(
    `INSERT INTO adopted_server (team_id, connection_id, server_id, server_type, location, architecture, server_kind, due_at)
     VALUES ($1, $2, 1, 'cpx31', 'hel1', 'amd64', 'cloud', ${later})`,
    [team.id, connectionId],
  );
  await at.pool.query(
    `WITH inviter AS (INSERT INTO app_user (email) VALUES ('bob@acme.test') RETURNING id)
     INSERT INTO invitation (team_id, email, role, invited_by, expires_at, mail_due_at)
     SELECT $1, 'eve@acme.test', 'member', id, ${later}, ${later} FROM inviter`,
    [team.id],
  );
  await at.pool.query(
    `INSERT INTO dns_zone (id, name, body, of_demos, synced_at)
     VALUES (1, 'teams.test', '{}', false, now()), (2, 'demos.test', '{}', true, now())`,
  );
  await at.pool.query(
    `INSERT INTO dns_audit_entry (team_id, actor, zone_id, name, type, operation, state, lease_until, recheck_at, reserved_records)
     VALUES ($1, 'service', 1, 'www', 'A', 'create', 'pending', ${later}, NULL, 1),
            ($1, 'service', 1, 'api', 'A', 'create', 'completed', NULL, ${later}, 0)`,
    [team.id],
  );
  await at.pool.query(
    `INSERT INTO dns_action (id, team_id, audit_entry_id, status, body) SELECT 1, $1, id, 'running', '{}'
     FROM dns_audit_entry WHERE name = 'api'`,
    [team.id],
  );
  await at.pool.query(
    `INSERT INTO demo (zone_id, label, name, team_id, ttl_seconds, expires_at, ended_at, clear_at)
     VALUES (2, 'live', 'live', $1, 3600, ${later}, NULL, NULL), (2, 'held', 'held', $1, 3600, now(), now(), now()),
            (2, 'left', 'left', $1, 3600, now(), now(), ${later})`,
    [team.id],
  );
  await at.pool.query(
    `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body) VALUES (2, 'www.left', 'A', 'left', 1, '{}')`,
  );
}

const conditional = (): (RecurringJob & { readonly isNeeded: string })[] =>
  [workers.dns, workers.retention, workers.usage, workers.clusters, workers.servers, workers.mail]
    .flatMap((each) => each?.recurring ?? [])
    .filter((job): job is RecurringJob & { readonly isNeeded: string } => job.isNeeded !== null);
const needed = async (): Promise<JobName[]> => [...(await findNeeded(at.pool, conditional()))];

const idIn = async (table: string) =>
  (await at.pool.query<{ id: string }>(`SELECT id FROM ${table}`)).rows[0]?.id ?? '';

/** What makes each job needed, and how it takes the work. */
const cases: readonly (readonly [JobName, string, () => Promise<unknown>])[] = [
  [
    'sweep-clusters',
    `UPDATE cluster SET due_at = now() - interval '2 s'`,
    async () => leaseStore(at.pool, clusterTable).takeLease(asClusterId(await idIn('cluster')), HOUR_MS),
  ],
  [
    'sweep-servers',
    `UPDATE adopted_server SET due_at = now() - interval '2 s'`,
    async () => leaseStore(at.pool, serverTable).takeLease((await idIn('adopted_server')) as ServerId, HOUR_MS),
  ],
  ['count-nodes', 'UPDATE cluster SET nodes_due_at = now()', () => countStore(at.pool).claimDue(9, HOUR_MS)],
  [
    'verify-connections',
    'UPDATE connection SET verify_at = now()',
    () => verificationStore(at.pool).claimDue(9, HOUR_MS),
  ],
  ['refresh-prices', 'UPDATE price_list SET due_at = now()', () => priceStore(at.pool).claimDue(9, HOUR_MS)],
  ['refresh-prices', 'DELETE FROM price_list', () => priceStore(at.pool).claimDue(9, HOUR_MS)],
  ['clean-up-garden', 'UPDATE garden_cleanup SET due_at = now()', () => cleanupStore(at.pool).claimDue(9, HOUR_MS)],
  ['send-mails', 'UPDATE invitation SET mail_due_at = now()', () => mailStore(at.pool).claimDue(9, HOUR_MS)],
  [
    'send-mails',
    'UPDATE invitation SET mail_due_at = now(), expires_at = now()',
    () => mailStore(at.pool).claimDue(9, HOUR_MS),
  ],
  [
    'settle-writes',
    `UPDATE dns_audit_entry SET lease_until = now() WHERE state = 'pending'`,
    () => settlementStore(at.pool).takePending(9, HOUR_MS),
  ],
  [
    'settle-writes',
    `UPDATE dns_audit_entry SET recheck_at = now() WHERE name = 'api'`,
    () => settlementStore(at.pool).takeRechecks(9, HOUR_MS),
  ],
  [
    'look-up-actions',
    `UPDATE dns_action SET checked_at = now() - interval '1 minute'`,
    () => pollTurns(at.pool).takeLookUp(HOUR_MS, HOUR_MS),
  ],
  ['expire-demos', `UPDATE demo SET expires_at = now() WHERE label = 'live'`, () => demoEnds(at.pool).endExpired(9)],
  [
    'expire-demos',
    `UPDATE demo SET ended_at = now() - interval '1 day' WHERE label = 'held'`,
    () => demoEnds(at.pool).releaseLabels(),
  ],
  [
    'clear-demos',
    `UPDATE demo SET clear_at = now() WHERE label = 'left'`,
    () => at.pool.query('DELETE FROM dns_rrset'),
  ],
];

describe('a recurring job', () => {
  it('is not needed while nothing is due', async () => {
    expect(await needed()).toEqual([]);
  });

  it.each(cases)('%s is needed after %s, until the work is taken', async (job, makeDue, take) => {
    await at.pool.query(makeDue);
    expect(await needed()).toEqual([job]);

    await take();

    expect(await needed()).toEqual([]);
  });

  it('has a condition that is tried here, unless it always has work', () => {
    const tried = new Set(cases.map(([job]) => job));
    expect(conditional().filter(({ name }) => !tried.has(name))).toEqual([]);
  });

  it('shares one statement with those of the same interval', async () => {
    const scheduled: { names: string[]; everyMs: number; find: (() => Promise<ReadonlySet<string>>) | undefined }[] =
      [];
    const queue = {
      schedule: (jobs: object, everyMs: number, find?: () => Promise<ReadonlySet<string>>) =>
        void scheduled.push({ names: Object.keys(jobs), everyMs, find }),
    };
    const job = { payload: {}, everyMs: 5_000 } as const;
    scheduleJobs({ queue, pool: at.pool }, [
      { ...job, name: 'settle-writes', isNeeded: 'true' },
      { ...job, name: 'count-nodes', isNeeded: 'NULL' },
      { ...job, name: 'expire-demos', isNeeded: 'true', everyMs: 100 },
      { ...job, name: 'record-usage', isNeeded: null },
    ]);

    expect(scheduled.map(({ names, everyMs }) => [everyMs, ...names])).toEqual([
      [5_000, 'record-usage'],
      [5_000, 'settle-writes', 'count-nodes'],
      [100, 'expire-demos'],
    ]);
    expect(await scheduled[1]?.find?.()).toEqual(new Set(['settle-writes']));
    expect(scheduled[0]?.find).toBeUndefined();
  });
});
