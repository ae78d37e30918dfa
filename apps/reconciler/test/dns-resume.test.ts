import { randomUUID } from 'node:crypto';
import { type HcloudClient, UpstreamUnavailable } from '@corral/hcloud';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { records } from './support/dns/dns-rows.js';
import { type Reconciling, running, startReconciling, ZONE } from './support/dns/start-reconciling.js';
import { stopOnTheWay } from './support/dns/stop-on-the-way.js';

let at: Reconciling;
beforeAll(async () => {
  at = await startReconciling();
  await at.addTeam('acme');
});
afterAll(() => at.stop());

const nameOf = (index: number): string => `n${String(index).padStart(3, '0')}.acme`;
const put = (name: string, value = '192.0.2.1') =>
  at.cloud.admin.putRrset(ZONE, name, 'A', { records: records(value) });
const remove = (name: string) => at.cloud.admin.deleteRrset(ZONE, name, 'A');
const readRuns = async () => (await at.pool.query('SELECT * FROM dns_sync_run ORDER BY started_at')).rows;
const drifts = () => at.readEntries(`operation = 'drift'`);
const countMirrored = async () =>
  (await at.pool.query(`SELECT count(*)::int AS count FROM dns_rrset WHERE owner_label = 'acme'`)).rows[0].count;

/** 450 sets of a team and two at the apex are five pages. */
const SETS = 450;

beforeEach(async () => {
  await at.pool.query(
    'TRUNCATE dns_action, dns_audit_entry, dns_sync_run, dns_sync_seen, dns_rrset; DELETE FROM dns_zone',
  );
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
    await walkUntil(4, runId);
    expect(await readRuns()).toEqual([
      expect.objectContaining({ id: runId, state: 'running', next_page: 4, rrsets_seen: 300, added: 300 }),
    ]);

    const next = steady();
    const result = await next.workers.zoneSync({ reason: 'start' }, running());

    expect(next.pages).toEqual([4, 5]);
    expect(result).toMatchObject({ kind: 'succeeded', runId, counts: { rrsetsSeen: 452, added: 452, removed: 0 } });
    expect(await countMirrored()).toBe(SETS);
    expect(await drifts()).toEqual([]);
    expect((await at.pool.query('SELECT count(*)::int AS count FROM dns_sync_seen')).rows).toEqual([{ count: 0 }]);
  });

  it('is not repeated for a request that it has served', async () => {
    const runId = randomUUID();
    await walkUntil(4, runId);
    await steady().workers.zoneSync({ reason: 'start' }, running());
    const late = steady();

    expect(await late.workers.zoneSync({ reason: 'request', runId }, running())).toEqual({ kind: 'already done' });
    expect(late.pages).toEqual([]);
  });

  it('is finished before another request starts its own walk', async () => {
    await walkUntil(4, randomUUID());
    const runId = randomUUID();
    const next = steady();

    const result = await next.workers.zoneSync({ reason: 'request', runId }, running());

    expect(result).toMatchObject({ kind: 'succeeded', runId });
    expect(next.pages).toEqual([4, 5, 1, 2, 3, 4, 5]);
    expect((await readRuns()).map(({ state }) => state)).toEqual(['succeeded', 'succeeded']);
  });

  it('sees each set although many were removed and the others moved up', async () => {
    await walkUntil(4);
    for (let index = 0; index < 150; index += 1) remove(nameOf(index));

    const next = steady();
    await next.workers.zoneSync({ reason: 'start' }, running());

    expect(next.pages).toEqual([4, 2, 3, 4]);
    // Sets removed after they were seen stay in the mirror until the next walk, because a walk confirms at most 100 absences.
    for (const index of [150, 299, 300, 301, 449]) expect(await at.mirroredValues(nameOf(index))).not.toBeNull();
    await next.workers.zoneSync({ reason: 'schedule' }, running());
    await next.workers.zoneSync({ reason: 'schedule' }, running());
    expect(await countMirrored()).toBe(300);
    expect(await at.mirroredValues(nameOf(0))).toBeNull();
  });

  it('starts over when too much time has passed since it stopped', async () => {
    await walkUntil(4);
    await at.pool.query(`UPDATE dns_sync_run SET progressed_at = progressed_at - interval '2 hours'`);

    const next = steady();
    await next.workers.zoneSync({ reason: 'start' }, running());

    expect(next.pages).toEqual([1, 2, 3, 4, 5]);
    expect((await readRuns()).map(({ state }) => state)).toEqual(['failed', 'succeeded']);
  });
});

describe('a walk interrupted by an upstream outage', () => {
  it('fails at its page, where the next one continues', async () => {
    const broken = walker(3, () => Promise.reject(new UpstreamUnavailable('503 unavailable')));
    expect(await broken.workers.zoneSync({ reason: 'start' }, running())).toMatchObject({ kind: 'failed' });
    expect(await readRuns()).toEqual([expect.objectContaining({ state: 'failed', next_page: 3 })]);

    const next = steady();
    await next.workers.zoneSync({ reason: 'schedule' }, running());

    expect(next.pages).toEqual([3, 4, 5]);
    expect(await countMirrored()).toBe(SETS);
  });

  it('fails a request when the upstream is still unavailable', async () => {
    await walkUntil(3);
    const runId = randomUUID();
    const broken = walker(3, () => Promise.reject(new UpstreamUnavailable('503 unavailable')));

    expect(await broken.workers.zoneSync({ reason: 'request', runId }, running())).toMatchObject({
      kind: 'failed',
      runId,
    });

    const { rows } = await at.pool.query('SELECT state, failure FROM dns_sync_run WHERE id = $1', [runId]);
    expect(rows).toEqual([{ state: 'failed', failure: expect.stringMatching(/503 unavailable/) }]);
    const next = steady();
    await next.workers.zoneSync({ reason: 'schedule' }, running());
    expect(next.pages).toEqual([3, 4, 5]);
  });
});

describe('a process that lost its lock without noticing', () => {
  it('changes nothing with the page that it still holds', async () => {
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
    expect(next.pages).toEqual([2, 3, 4, 5]);
    expect(await at.mirroredValues(nameOf(120))).toEqual(['192.0.2.99']);
    expect(await drifts()).toEqual([expect.objectContaining({ name: nameOf(120) })]);
  });
});
