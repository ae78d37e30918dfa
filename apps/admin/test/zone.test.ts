import { zoneSyncStore } from '@corral/dns-mirror';
import { type StartedWorker, startWorker } from '@corral/queue';
import { silentLog } from '@corral/service';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startAdmin, type TestAdmin, ZONE } from './support/start-admin.js';

const ZONE_ID = 7001;

let admin: TestAdmin;
let worker: StartedWorker | null = null;
beforeAll(async () => {
  admin = await startAdmin({ takenWithinMs: 1_500 });
  await admin.run('team', 'create', 'acme');
  await admin.run('team', 'create', 'big');
});
afterEach(async () => {
  await worker?.close();
  worker = null;
});
afterAll(() => admin.stop());

/** In place of a reconciler: makes the run that was asked for, with the given sets for a zone. */
async function startFakeReconciler(sets: [name: string, records: number][], failure?: string): Promise<void> {
  const store = zoneSyncStore(admin.pool);
  const makeRun = async ({ runId = null, reason }: { runId?: string | null; reason: string }) => {
    const id = await store.startRun(ZONE, reason, runId);
    if (failure !== undefined) return store.failRun(id, failure);
    await store.saveZone({ id: ZONE_ID, name: ZONE, body: '{}' });
    for (const [name, count] of sets) {
      const records = Array.from({ length: count }, (_, index) => ({ value: `192.0.2.${index}`, comment: '' }));
      const found = JSON.stringify({ ttl: null, labels: {}, records });
      const key = { zoneId: ZONE_ID, name, type: 'A' };
      await store.observe({ key, found, readAt: await store.readClock() }, { graceMs: 0, purpose: 'import' });
    }
    const counts = { rrsetsSeen: sets.length, added: sets.length, changed: 0, removed: 0, skipped: 0 };
    return store.finishRun(id, ZONE_ID, counts);
  };
  worker = startWorker({
    queues: {
      dns: {
        handlers: {
          'settle-writes': async () => undefined,
          'expire-demos': async () => undefined,
          'clear-demos': async () => undefined,
          'zone-sync': makeRun,
        },
        concurrency: 1,
      },
    },
    ...{ databaseUrl: admin.databaseUrl, log: silentLog },
  });
  await worker.ready;
}

describe('zone sync', () => {
  it('follows the run and tells what it did', async () => {
    await startFakeReconciler([['www.acme', 1]]);

    const { code, out } = await admin.run('zone', 'sync');

    expect({ code, out }).toEqual({
      code: 0,
      out: `Zone ${ZONE}: 1 record sets upstream; in the mirror 1 added, 0 changed, 0 removed.\n`,
    });
  });

  it('fails with the reason when the run does', async () => {
    await startFakeReconciler([], 'The upstream DNS API is unavailable: 503 unavailable');

    expect(await admin.run('zone', 'sync')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/The sync failed\. The upstream DNS API is unavailable/),
    });
  });

  it('says so when no reconciler takes the job', async () => {
    const { code, out, err } = await admin.run('zone', 'sync');

    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/No reconciler took the job within/);
  });

  it('asks for the zone when none is configured', async () => {
    expect(await admin.runWith({ DATABASE_URL: admin.databaseUrl }, 'zone', 'sync')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/Set DNS_ZONE_NAME/),
    });
  });
});

describe('zone import', () => {
  it('tells who owns what, who is past the quota, and what belongs to nobody', async () => {
    await startFakeReconciler([
      ...([
        ['www.acme', 2],
        ['mail', 1],
        ['x.later', 1],
      ] as [string, number][]),
      ...Array.from({ length: 5 }, (_, index): [string, number] => [`n${index}.big`, 50]),
    ]);

    const report = await admin.json('zone', 'import');

    expect(report).toMatchObject({
      added: 8,
      teams: [
        { team: 'acme', rrsets: 1, records: 2, isOverQuota: false },
        { team: 'big', rrsets: 5, records: 250, isOverQuota: true },
      ],
      ownerless: [
        { name: 'x.later', type: 'A', records: 1 },
        { name: 'mail', type: 'A', records: 1 },
      ],
    });
  });

  it('gives a team that comes later what lies below its name', async () => {
    await startFakeReconciler([]);
    await admin.run('team', 'create', 'later');

    const { out } = await admin.run('zone', 'import');

    expect(out).toMatch(/^later {2}1 {12}1 /m);
    expect(out).toMatch(/These 1 belong to no team/);
    expect(out).toMatch(/big {4}5 {12}250 {6}past 200: can only remove/);
  });
});
