import { randomUUID } from 'node:crypto';
import { connectPrisma, type Prisma } from '@corral/database';
import { type SyncLease, syncRunStore, zoneSyncStore } from '@corral/dns-data';
import { type StartedWorker, startWorker } from '@corral/queue';
import { silentLog } from '@corral/service';
import { patientTransactions } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startAdmin, type TestAdmin, ZONE } from './support/start-admin.js';

const ZONE_ID = 7001;

let admin: TestAdmin;
let prisma: Prisma;
let worker: StartedWorker | null = null;
beforeAll(async () => {
  admin = await startAdmin();
  prisma = connectPrisma(admin.pool, patientTransactions);
});
beforeEach(async () => {
  await admin.empty();
  await admin.run('team', 'create', 'acme');
  await admin.run('team', 'create', 'big');
});
afterEach(async () => {
  await worker?.close();
  worker = null;
});
afterAll(async () => {
  await prisma.$disconnect();
  await admin.stop();
});

/** Replaces a reconciler: executes the requested run with the given sets for a zone. */
async function startFakeReconciler(
  sets: [name: string, records: number][],
  { failure, zoneName = ZONE }: { failure?: string; zoneName?: string } = {},
): Promise<void> {
  const store = zoneSyncStore(prisma);
  const runs = syncRunStore(prisma);
  const makeRun = async ({ runId = null, reason }: { runId?: string | null; reason: string }) => {
    const lease = (await runs.takeRun(zoneName, reason, runId)) as SyncLease;
    if (failure !== undefined) return runs.failRun(lease, failure);
    await store.saveZone({ id: ZONE_ID, name: zoneName, body: '{}' });
    const found = sets.map(([name, count]) => {
      const records = Array.from({ length: count }, (_, index) => ({ value: `192.0.2.${index}`, comment: '' }));
      return { name, type: 'A', found: JSON.stringify({ ttl: null, labels: {}, records }) };
    });
    const readings = { zoneId: ZONE_ID, readAt: await store.readClock(), sets: found };
    const position = { nextPage: null, listedTotal: null };
    const step = { readings, seen: found, skipped: 0, position };
    await runs.recordStep(lease, step, { graceMs: 0, purpose: 'import' });
    await runs.finishRun(lease, ZONE_ID);
  };
  worker = startWorker({
    queues: {
      dns: {
        handlers: {
          'settle-writes': async () => undefined,
          'look-up-actions': async () => undefined,
          'expire-demos': async () => undefined,
          'clear-demos': async () => undefined,
          'zone-sync': makeRun,
        },
        concurrency: 1,
      },
    },
    databaseUrl: admin.databaseUrl,
    log: silentLog,
  });
  await worker.ready;
}

describe('zone sync', () => {
  it('follows the run and reports its result', async () => {
    await startFakeReconciler([['www.acme', 1]]);

    const { code, out } = await admin.run('zone', 'sync');

    expect({ code, out }).toEqual({
      code: 0,
      out: `Zone ${ZONE}: 1 record sets upstream; in the mirror 1 added, 0 changed, 0 removed.\n`,
    });
  });

  it('fails with the reason of the run', async () => {
    await startFakeReconciler([], { failure: 'The upstream DNS API is unavailable: 503 unavailable' });

    expect(await admin.run('zone', 'sync')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/The sync failed\. The upstream DNS API is unavailable/),
    });
  });

  it('reports when no reconciler takes the job', async () => {
    const { code, out, err } = await admin.runWithoutPatience('zone', 'sync');

    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/No reconciler took the job within/);
  });

  it('reports when the reconcilers serve another zone', async () => {
    await startFakeReconciler([], { failure: 'not looked at', zoneName: 'other.test' });

    expect(await admin.run('zone', 'sync')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/serve the zone other\.test, not example\.test/),
    });
  });

  it('requires a configured zone', async () => {
    expect(await admin.runWith({ DATABASE_URL: admin.databaseUrl }, 'zone', 'sync')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/Set DNS_ZONE_NAME/),
    });
  });
});

describe('zone import', () => {
  /** Leaves an unfinished import, like a reconciler that was killed. */
  async function leaveImport(zoneName: string, state: 'running' | 'failed'): Promise<string> {
    const runs = syncRunStore(prisma);
    const lease = (await runs.takeRun(zoneName, 'start', randomUUID())) as SyncLease;
    const readings = { zoneId: ZONE_ID, readAt: new Date(), sets: [] };
    const position = { nextPage: 7, listedTotal: 900 };
    await runs.recordStep(lease, { readings, seen: [], skipped: 0, position }, { graceMs: 0, purpose: 'import' });
    if (state === 'failed') await runs.failRun(lease, 'The upstream DNS API is unavailable.');
    return lease.runId;
  }

  it.each(['running', 'failed'] as const)('continues an interrupted import in state %s', async (state) => {
    const zoneName = `${state}.test`;
    const left = await leaveImport(zoneName, state);
    await startFakeReconciler([['www.acme', 2]], { zoneName });
    const env = { DATABASE_URL: admin.databaseUrl, DNS_ZONE_NAME: zoneName };

    const { code, out } = await admin.runWith(env, '--json', 'zone', 'import');

    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ runId: left, zone: zoneName });
    const { rows } = await admin.pool.query('SELECT id, fence FROM dns_sync_run WHERE zone_name = $1', [zoneName]);
    expect(rows).toEqual([{ id: left, fence: 2 }]);
  });

  const zoneOfMany: [name: string, records: number][] = [
    ['www.acme', 2],
    ['mail', 1],
    ['x.later', 1],
    ...Array.from({ length: 5 }, (_, index): [string, number] => [`n${index}.big`, 50]),
  ];

  it('reports owners, teams beyond their quota, and sets without a team', async () => {
    await startFakeReconciler(zoneOfMany);

    const report = await admin.json('zone', 'import');

    expect(report).toMatchObject({
      added: 8,
      teams: [
        { team: 'acme', quota: 200, rrsets: 1, records: 2, isOverQuota: false },
        { team: 'big', quota: 200, rrsets: 5, records: 250, isOverQuota: true },
      ],
      ownerless: [
        { name: 'x.later', type: 'A', records: 1, why: 'no team yet' },
        { name: 'mail', type: 'A', records: 1, why: 'reserved' },
      ],
      ownerlessRrsets: 2,
    });
  });

  it('assigns existing sets to a team created later', async () => {
    await startFakeReconciler(zoneOfMany);
    await admin.run('zone', 'import');
    const created = await admin.run('team', 'create', 'later');
    expect(created.out).toMatch(/It owns existing data of the zone: record sets 1, records 1\./);

    const { out } = await admin.run('zone', 'import');

    expect(out).toMatch(/^later {2}1 {12}1 /m);
    expect(out).toMatch(/These 1 belong to no team/);
    expect(out).toMatch(/^mail {2}A {5}1 {8}reserved/m);
    expect(out).toMatch(/big {4}5 {12}250 {6}over 200: can only remove/);
  });
});
