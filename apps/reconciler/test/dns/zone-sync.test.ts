import { randomUUID } from 'node:crypto';
import { type HcloudClient, type RrsetPage, UpstreamUnavailable } from '@corral/hcloud';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { records, type TestTeam } from '../support/dns/dns-rows.js';
import { type Reconciling, running, startReconciling, ZONE } from '../support/dns/start-reconciling.js';

/** Lets a test hold a call: it waits until the call has arrived, inspects the state, and lets it continue. */
function stopOnTheWay() {
  const [come, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const stop = () => {
    come.resolve();
    return go.promise;
  };
  return { stop, hasCome: come.promise, goOn: go.resolve };
}

let at: Reconciling;
let acme: TestTeam;
beforeAll(async () => {
  at = await startReconciling();
  acme = await at.addTeam('acme');
});
afterAll(() => at.stop());
beforeEach(() =>
  at.pool.query('TRUNCATE dns_action, dns_audit_entry, dns_sync_run, dns_sync_seen, dns_rrset; DELETE FROM dns_zone'),
);
const readRuns = async () => (await at.pool.query('SELECT * FROM dns_sync_run ORDER BY started_at')).rows;
const drifts = () => at.readEntries(`operation = 'drift'`);

describe('a sync', () => {
  const sync = (workers = at.workers, runId?: string) => workers.zoneSync({ reason: 'request', runId }, running());
  const put = (name: string, ...values: string[]) =>
    at.cloud.admin.putRrset(ZONE, name, 'A', { records: records(...values) });
  /** A reconciler to which the upstream lists other sets than it has. */
  const listing = (change: (rrsets: RrsetPage['rrsets']) => RrsetPage['rrsets']) =>
    at.another(
      {},
      {
        async listRrsets(zoneId, page) {
          const full = await at.hcloud.listRrsets(zoneId, page);
          return { ...full, rrsets: change(full.rrsets) };
        },
      },
    );
  const noCounts = { added: 0, changed: 0, removed: 0, skipped: 0 };
  beforeEach(() => at.clearUpstream());

  describe('the first sync of a zone', () => {
    it('imports every set without reporting drift', async () => {
      for (let index = 0; index < 120; index += 1) put(`n${index}.acme`, '192.0.2.1');
      put('nobodys', '192.0.2.2');
      const before = await at.metric('corral_dns_drift_total');

      const result = await sync();

      expect(result).toMatchObject({ kind: 'succeeded', counts: { ...noCounts, rrsetsSeen: 123, added: 123 } });
      expect(await at.mirroredValues('n77.acme')).toEqual(['192.0.2.1']);
      expect(await at.mirroredValues('nobodys')).toEqual(['192.0.2.2']);
      expect(await at.readEntries()).toEqual([]);
      expect(await at.metric('corral_dns_drift_total')).toBe(before);
      expect(await readRuns()).toEqual([
        expect.objectContaining({ state: 'succeeded', zone_id: at.zoneId, rrsets_seen: 123, added: 123 }),
      ]);
    });

    it('stores bodies byte by byte, including unknown fields', async () => {
      at.cloud.admin.setExtraFields({ rrset: { novelty: { deep: [1] } } } as never);
      put('www.acme', '192.0.2.1');
      await sync();
      const stated = await at.hcloud.readRrset(at.zoneId, 'www.acme', 'A');
      at.cloud.admin.setExtraFields({});

      const { rows } = await at.pool.query(`SELECT body FROM dns_rrset WHERE name = 'www.acme'`);
      expect(stated).toEqual({ kind: 'found', body: rows[0].body });
    });
  });

  describe('a later sync', () => {
    beforeEach(async () => {
      put('kept.acme', '192.0.2.1');
      put('changes.acme', '192.0.2.1');
      put('goes.acme', '192.0.2.1');
      await sync();
    });

    it('mirrors added, changed and removed sets, reports each as drift, and writes nothing upstream', async () => {
      const before = await Promise.all(
        ['added', 'changed', 'removed'].map(async (kind) => (await at.metric('corral_dns_drift_total', { kind })) ?? 0),
      );
      put('comes.acme', '192.0.2.5');
      put('nobodys', '192.0.2.2');
      put('changes.acme', '192.0.2.6');
      at.cloud.admin.deleteRrset(ZONE, 'goes.acme', 'A');
      at.cloud.admin.resetCalls();

      const result = await sync();

      expect(result).toMatchObject({ counts: { added: 2, changed: 1, removed: 1, skipped: 0 } });
      expect(Object.keys(at.cloud.admin.calls().byRoute).filter((route) => !route.startsWith('GET '))).toEqual([]);
      expect(await at.mirroredValues('comes.acme')).toEqual(['192.0.2.5']);
      expect(await at.mirroredValues('changes.acme')).toEqual(['192.0.2.6']);
      expect(await at.mirroredValues('goes.acme')).toBeNull();
      const entries = (await drifts()).map(({ name, actor, state, team_id, found_body }) => [
        name,
        actor,
        state,
        team_id,
        found_body !== null,
      ]);
      expect(entries).toHaveLength(4);
      expect(entries).toEqual(
        expect.arrayContaining([
          ['comes.acme', 'upstream', 'observed', acme.id, true],
          ['changes.acme', 'upstream', 'observed', acme.id, true],
          ['goes.acme', 'upstream', 'observed', acme.id, false],
          ['nobodys', 'upstream', 'observed', null, true],
        ]),
      );
      const after = await Promise.all(
        ['added', 'changed', 'removed'].map((kind) => at.metric('corral_dns_drift_total', { kind })),
      );
      expect(after).toEqual([2, 1, 1].map((more, index) => (before[index] ?? 0) + more));
    });

    it('does not trust a list that shifted pages left incomplete', async () => {
      const shifted = listing((rrsets) => rrsets.filter(({ name }) => name !== 'kept.acme'));

      const result = await sync(shifted);

      expect(result).toMatchObject({ counts: { ...noCounts, rrsetsSeen: 5 } });
      expect(await at.mirroredValues('kept.acme')).toEqual(['192.0.2.1']);
    });

    it('confirms a limited number of absences per run, and requests another run', async () => {
      for (let index = 0; index < 104; index += 1) put(`n${index}.acme`, '192.0.2.1');
      await sync();
      for (let index = 0; index < 104; index += 1) at.cloud.admin.deleteRrset(ZONE, `n${index}.acme`, 'A');
      at.nudges.length = 0;

      await at.workers.handlers['zone-sync']({ reason: 'schedule' }, { signal: running() } as never);

      expect((await readRuns()).at(-1)).toMatchObject({ removed: 100, skipped: 4 });
      expect(at.nudges).toEqual([expect.objectContaining({ options: { jobId: 'again', delayMs: 60_000 } })]);
    });

    it('skips a set with a pending write', async () => {
      await at.addLostWrite(acme, { name: 'kept.acme', operation: 'delete', body: null });
      await at.addLostWrite(acme, { name: 'goes.acme', operation: 'delete', body: null });
      put('kept.acme', '192.0.2.9');
      at.cloud.admin.deleteRrset(ZONE, 'goes.acme', 'A');

      const result = await sync();

      expect(result).toMatchObject({ counts: { ...noCounts, skipped: 2 } });
      expect(await at.mirroredValues('kept.acme')).toEqual(['192.0.2.1']);
      expect(await at.mirroredValues('goes.acme')).toEqual(['192.0.2.1']);
    });

    it('keeps the mirrored body of an unusable set, and compares the others', async () => {
      put('changes.acme', '192.0.2.6');
      const odd = listing((rrsets) =>
        rrsets.map((each) => (each.name === 'kept.acme' ? { ...each, body: '{}' } : each)),
      );

      const result = await sync(odd);

      expect(result).toMatchObject({ kind: 'succeeded', counts: { changed: 1, removed: 0 } });
      expect(await at.mirroredValues('kept.acme')).toEqual(['192.0.2.1']);
    });
  });

  describe('a sync that fails', () => {
    const lastRun = async () => (await readRuns()).at(-1);

    it.each([
      [
        'is absent from the project',
        { name: 'x', kind: 'absent' },
        `The upstream project has no zone ${ZONE}. Check DNS_ZONE_NAME`,
      ],
      ['is not primary', { kind: 'found', mode: 'secondary' }, 'is secondary upstream'],
      ['has the same name and another id', { kind: 'found', id: 4711, mode: 'primary' }, 'number 4711 upstream'],
    ])('refuses a zone that %s, and changes nothing', async (_what, zone, failure) => {
      put('kept.acme', '192.0.2.1');
      await sync();
      const found = { id: at.zoneId, name: ZONE, body: '{}', ...zone } as never;

      const result = await sync(at.another({}, { readZone: async () => found }));

      expect(result).toMatchObject({ kind: 'failed', cause: 'lasting' });
      expect(await lastRun()).toMatchObject({ state: 'failed', failure: expect.stringContaining(failure) });
      expect(await at.mirroredValues('kept.acme')).toEqual(['192.0.2.1']);
    });

    it('fails while the upstream is unavailable, keeps the mirror, and is retried soon', async () => {
      put('kept.acme', '192.0.2.1');
      await sync();
      at.cloud.admin.addFaults({ match: { path: 'rrsets' }, times: null, effect: { status: 503 } });
      at.nudges.length = 0;

      await at.workers.handlers['zone-sync']({ reason: 'schedule' }, { signal: running() } as never);

      expect(await lastRun()).toMatchObject({ state: 'failed', failure: expect.stringMatching(/unavailable/) });
      expect(await at.mirroredValues('kept.acme')).toEqual(['192.0.2.1']);
      expect(at.nudges).toEqual([expect.objectContaining({ options: { jobId: 'again', delayMs: 30_000 } })]);
    });
  });

  it('two concurrent syncs do not overlap: the second ends immediately, and a requested one is queued', async () => {
    const { stop, hasCome, goOn } = stopOnTheWay();
    const slow = at.another(
      {},
      {
        async readZone(name) {
          await stop();
          return at.hcloud.readZone(name);
        },
      },
    );
    const first = sync(slow);
    await hasCome;
    const runId = randomUUID();
    at.nudges.length = 0;

    const second = await sync();
    await at.workers.handlers['zone-sync']({ reason: 'request', runId }, { signal: running() } as never);

    expect(second).toEqual({ kind: 'already running' });
    expect(await readRuns()).toEqual([expect.objectContaining({ state: 'running' })]);
    expect(at.nudges).toEqual([
      { name: 'zone-sync', payload: { reason: 'request', runId }, options: { jobId: runId, delayMs: 1_000 } },
    ]);
    goOn();
    expect(await first).toMatchObject({ kind: 'succeeded' });
    expect(await sync()).toMatchObject({ kind: 'succeeded' });
  });

  it('the age of the last sync grows from the first attempt while no sync succeeds', async () => {
    await at.pool.query(
      `INSERT INTO dns_sync_run (zone_name, reason, state, started_at, finished_at)
     VALUES ($1, 'start', 'failed', now() - interval '2 h', now()), ($1, 'schedule', 'failed', now() - interval '1 h', now())`,
      [ZONE],
    );

    expect(await at.metric('corral_dns_sync_age_seconds')).toBeGreaterThan(7_199);
  });
});

describe('a walk', () => {
  const nameOf = (index: number): string => `n${String(index).padStart(3, '0')}.acme`;
  const put = (name: string, value = '192.0.2.1') =>
    at.cloud.admin.putRrset(ZONE, name, 'A', { records: records(value) });
  const countMirrored = async () =>
    (await at.pool.query(`SELECT count(*)::int AS count FROM dns_rrset WHERE owner_label = 'acme'`)).rows[0].count;

  /** 350 sets of a team and two at the apex are four pages. */
  const SETS = 350;

  beforeAll(() => {
    at.clearUpstream();
    for (let index = 0; index < SETS; index += 1) put(nameOf(index));
  });

  type ListRrsets = HcloudClient['listRrsets'];

  /** A reconciler whose walk gets `instead` for the given page, and the pages that it has read. */
  function walker(page: number | null, instead: () => ReturnType<ListRrsets>) {
    const pages: number[] = [];
    const workers = at.another(
      {},
      {
        async listRrsets(zoneId, wanted, options) {
          if (wanted === page) return instead();
          pages.push(wanted);
          return at.hcloud.listRrsets(zoneId, wanted, options);
        },
      },
    );
    return { workers, pages };
  }
  const steady = () => walker(null, () => Promise.reject(new Error('is never called')));

  /** Walks until the process is stopped at the given page. The run stays at its position, as after a kill. */
  async function walkUntil(page: number, runId?: string): Promise<void> {
    const stop = new AbortController();
    const { workers } = walker(page, () => {
      stop.abort();
      return new Promise<never>(() => undefined);
    });
    expect(await workers.zoneSync({ reason: 'request', runId }, stop.signal)).toMatchObject({ kind: 'stopped' });
  }

  describe('a walk whose process was stopped', () => {
    it('is resumed at its page by the next walk', async () => {
      const runId = randomUUID();
      await walkUntil(3, runId);
      expect(await readRuns()).toEqual([
        expect.objectContaining({ id: runId, state: 'running', next_page: 3, rrsets_seen: 200, added: 200 }),
      ]);

      const next = steady();
      const result = await next.workers.zoneSync({ reason: 'start' }, running());

      expect(next.pages).toEqual([3, 4]);
      expect(result).toMatchObject({ kind: 'succeeded', runId, counts: { rrsetsSeen: 352, added: 352, removed: 0 } });
      expect(await countMirrored()).toBe(SETS);
      expect(await drifts()).toEqual([]);
      expect((await at.pool.query('SELECT count(*)::int AS count FROM dns_sync_seen')).rows).toEqual([{ count: 0 }]);
    });

    it('sees each set although many were removed and the others moved up', async () => {
      await walkUntil(3);
      for (let index = 0; index < 100; index += 1) at.cloud.admin.deleteRrset(ZONE, nameOf(index), 'A');

      const next = steady();
      await next.workers.zoneSync({ reason: 'start' }, running());
      for (let index = 0; index < 100; index += 1) put(nameOf(index));

      expect(next.pages).toEqual([3, 2, 3]);
      // Sets removed after they were seen stay in the mirror until the next walk.
      expect(await countMirrored()).toBe(SETS);
    });

    it('starts over when too much time has passed since it stopped', async () => {
      await walkUntil(3);
      await at.pool.query(`UPDATE dns_sync_run SET progressed_at = progressed_at - interval '2 hours'`);

      const next = steady();
      await next.workers.zoneSync({ reason: 'start' }, running());

      expect(next.pages).toEqual([1, 2, 3, 4]);
      expect((await readRuns()).map(({ state }) => state)).toEqual(['failed', 'succeeded']);
    });
  });

  it('a walk interrupted by an upstream outage fails at its page, where the next one continues', async () => {
    const broken = walker(3, () => Promise.reject(new UpstreamUnavailable('503 unavailable')));
    expect(await broken.workers.zoneSync({ reason: 'start' }, running())).toMatchObject({ kind: 'failed' });
    expect(await readRuns()).toEqual([expect.objectContaining({ state: 'failed', next_page: 3 })]);

    const next = steady();
    await next.workers.zoneSync({ reason: 'schedule' }, running());

    expect(next.pages).toEqual([3, 4]);
    expect(await countMirrored()).toBe(SETS);
  });

  it('a process that lost its lock without noticing changes nothing with the page that it still holds', async () => {
    await steady().workers.zoneSync({ reason: 'start' }, running());
    const stale = await at.hcloud.listRrsets(at.zoneId, 2);
    const { stop, hasCome, goOn } = stopOnTheWay();
    const old = walker(2, async () => {
      await stop();
      return stale;
    });
    const walking = old.workers.zoneSync({ reason: 'schedule' }, running());
    await hasCome;
    await at.pool.query(
      `SELECT pg_terminate_backend(pid, 10_000) FROM pg_locks
     WHERE locktype = 'advisory' AND classid = 7237001 AND pid <> pg_backend_pid()
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    put(nameOf(120), '192.0.2.99');
    const next = steady();
    expect(await next.workers.zoneSync({ reason: 'schedule' }, running())).toMatchObject({ kind: 'succeeded' });
    goOn();

    expect(await walking).toEqual({ kind: 'already running' });
    expect(next.pages).toEqual([2, 3, 4]);
    expect(await at.mirroredValues(nameOf(120))).toEqual(['192.0.2.99']);
    expect(await drifts()).toEqual([expect.objectContaining({ name: nameOf(120) })]);
  });
});
