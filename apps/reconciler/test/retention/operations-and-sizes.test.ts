import { operationKinds, operationOutcomes } from '@corral/contracts';
import { createMetrics } from '@corral/service';
import { deleteRows } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { countOperations, operationEndMetrics } from '../../src/upkeep/count-operations.js';
import { openOperationMetrics } from '../../src/upkeep/open-operations.js';
import { ownTables, tableSizeMetrics, tableSizes } from '../../src/upkeep/table-sizes.js';
import { type ClusterRows, openClusterRows, type TestTeam } from '../support/cluster-rows.js';

let at: ClusterRows;

beforeAll(async () => {
  at = await openClusterRows();
});

afterAll(() => at.close());

describe('count operations', () => {
  let at: ClusterRows;
  let team: TestTeam;
  beforeAll(async () => {
    at = await openClusterRows();
    team = await at.addTeam();
  });
  beforeEach(() => at.pool.query('DELETE FROM operation; DELETE FROM operation_total'));
  afterAll(() => at.close());

  const count = () => countOperations(at.pool)(new AbortController().signal);

  /** Operations that ended in this way after so many seconds. */
  const add = (kind: string, state: string, { code = null as string | null, seconds = 60, times = 1 } = {}) =>
    at.pool.query(
      `INSERT INTO operation (team_id, kind, target_kind, target_id, target_name, generation, state, progress, error, desired_hash,
                            created_at, finished_at)
     SELECT $1, $2, 'Cluster', gen_random_uuid(), 'shop', 1, $3::operation_state, CASE WHEN $3 = 'succeeded' THEN 100 ELSE 0 END,
            CASE WHEN $4::text IS NULL THEN '{}' ELSE jsonb_build_object('code', $4::text) END, 'x',
            now() - make_interval(secs => $5), CASE WHEN $3 NOT IN ('queued', 'running') THEN now() END
     FROM generate_series(1, $6)`,
      [team.id, kind, state, code, seconds, times],
    );

  /** What a newly started process reports: `cluster.create succeeded` and its value, without zeros. */
  async function scrape(name: string): Promise<Record<string, number>> {
    const metrics = createMetrics({ service: 'test' });
    operationEndMetrics(metrics, at.pool);
    const [text] = await Promise.all([metrics.registry.metrics(), metrics.registry.metrics()]);
    return Object.fromEntries(
      [...text.matchAll(new RegExp(`^${name}\\{kind="(.*?)",outcome="(.*?)".*\\} (\\S+)$`, 'gm'))]
        .filter(([, , , value]) => value !== '0')
        .map(([, kind, outcome, value]) => [`${kind} ${outcome}`, Number(value)]),
    );
  }

  describe('the counters of ended operations', () => {
    it('tell failures of the service from those that the team can fix, and have no open operation', async () => {
      await add('cluster.create', 'succeeded', { times: 2 });
      await add('cluster.create', 'failed', { code: 'provider_quota_exceeded' });
      await add('cluster.create', 'failed', { code: 'shoot_missing' });
      await add('cluster.update', 'failed', { code: 'a_code_of_a_later_release' });
      await add('cluster.update', 'superseded');
      await add('cluster.delete', 'running');

      expect(await count()).toBe(6);

      expect(await scrape('corral_operations_ended_total')).toEqual({
        'cluster.create succeeded': 2,
        'cluster.create failed_user': 1,
        'cluster.create failed_platform': 1,
        'cluster.update failed_platform': 1,
        'cluster.update superseded': 1,
      });
      expect(await scrape('corral_operations_ended_seconds_total')).toMatchObject({ 'cluster.create succeeded': 120 });
    });

    it('say which took longer than their kind may; one that may wait for a person is never late', async () => {
      await add('cluster.create', 'succeeded', { seconds: 1_799 });
      await add('cluster.create', 'succeeded', { seconds: 1_801 });
      await add('server.adopt', 'succeeded', { seconds: 86_400 });
      await count();

      expect(await scrape('corral_operations_late_total')).toEqual({ 'cluster.create succeeded': 1 });
    });

    it('have each end once, however many processes count at the same time', async () => {
      await add('cluster.create', 'succeeded', { times: 1_200 });
      const counted = await Promise.all([count(), count(), count()]);
      await add('cluster.create', 'succeeded');
      await count();

      expect(counted.reduce((sum, each) => sum + each)).toBe(1_200);
      expect(await scrape('corral_operations_ended_total')).toEqual({ 'cluster.create succeeded': 1_201 });
    });

    it('keep their values when the operations are deleted', async () => {
      await add('cluster.delete', 'succeeded');
      await count();
      await at.pool.query('DELETE FROM operation');
      await count();

      expect(await scrape('corral_operations_ended_total')).toEqual({ 'cluster.delete succeeded': 1 });
    });

    it('start at zero for each kind and outcome, and are missing while Postgres does not answer', async () => {
      const pageOf = (pool: Pick<ClusterRows['pool'], 'query'>) => {
        const metrics = createMetrics({ service: 'test' });
        operationEndMetrics(metrics, pool);
        return metrics.registry.metrics();
      };
      const query = () => Promise.reject(new Error('connection refused'));

      const zeros = (await pageOf(at.pool)).match(/^corral_operations_ended_total\{.*\} 0$/gm);
      expect(zeros).toHaveLength(operationKinds.length * operationOutcomes.length);
      expect(await pageOf({ query } as unknown as ClusterRows['pool'])).not.toMatch(/^corral_operations.*\d$/m);
    });
  });

  it('an ended operation changes in nothing but the mark that it is counted', async () => {
    await add('cluster.create', 'succeeded');

    await expect(at.pool.query(`UPDATE operation SET is_counted = true, target_name = 'other'`)).rejects.toThrow(
      /a final state never changes/,
    );
  });

  it('only a failed operation may end again: as succeeded, once its work is done after all', async () => {
    await add('cluster.delete', 'failed');
    const become = (state: string, progress: number) =>
      at.pool.query(`UPDATE operation SET state = $1, progress = $2`, [state, progress]);

    await expect(become('running', 50)).rejects.toThrow(/a final state never changes/);
    await become('succeeded', 100);
    await expect(become('failed', 100)).rejects.toThrow();
  });
});

describe('open operations', () => {
  afterEach(() =>
    at.pool.query(`UPDATE operation SET state = 'cancelled', finished_at = now() WHERE finished_at IS NULL`),
  );

  async function pageOf(pool: ClusterRows['pool']): Promise<string> {
    const metrics = createMetrics({ service: 'test' });
    openOperationMetrics(metrics, pool);
    return metrics.registry.metrics();
  }

  async function scrape(pool: ClusterRows['pool']): Promise<string[]> {
    const text = await pageOf(pool);
    return [...text.matchAll(/^corral_operation_open_age_seconds\{.*\} (\S+)$/gm)].map(([, value = '']) => value);
  }

  describe('the age of the oldest open operation', () => {
    it('is 0 without open operations, and that of the oldest one while others are newer or ended', async () => {
      expect(await scrape(at.pool)).toEqual(['0']);
      const team = await at.addTeam();
      const connectionId = await at.addConnection(team);
      const [ended, oldest] = [await at.declare(team, connectionId), await at.declare(team, connectionId)];
      await at.declare(team, connectionId);
      const age = 'UPDATE operation SET created_at = now() - make_interval(hours => $2) WHERE id = $1';
      await at.pool.query(age, [oldest.operationId, 2]);
      await at.pool.query(age, [ended.operationId, 5]);
      await at.pool.query(
        `UPDATE operation SET state = 'succeeded', progress = 100, finished_at = now() WHERE id = $1`,
        [ended.operationId],
      );

      const [seconds] = await scrape(at.pool);

      expect(Number(seconds)).toBeGreaterThanOrEqual(2 * 3_600);
      expect(Number(seconds)).toBeLessThan(5 * 3_600);
    });

    it('is missing while Postgres does not answer', async () => {
      const query = () => Promise.reject(new Error('connection refused'));

      expect(await scrape({ query } as unknown as ClusterRows['pool'])).toEqual([]);
    });
  });

  describe('overdue operations', () => {
    it('are open for longer than their kind may; those that have ended are not counted', async () => {
      const team = await at.addTeam();
      const connectionId = await at.addConnection(team);
      const [open, ended] = [await at.declare(team, connectionId), await at.declare(team, connectionId)];
      await at.declare(team, connectionId);
      await at.pool.query(
        `UPDATE operation SET kind = 'connection.verify', created_at = now() - interval '301 s',
                            state = CASE WHEN id = $2 THEN 'cancelled' ELSE state END,
                            finished_at = CASE WHEN id = $2 THEN now() END
       WHERE id IN ($1, $2)`,
        [open.operationId, ended.operationId],
      );

      const lines = (await pageOf(at.pool)).match(/^corral_operations_overdue_count\{kind="connection.verify".*$/gm);

      expect(lines).toEqual([expect.stringMatching(/ 1$/)]);
    });
  });
});

describe('the sizes of tables', () => {
  beforeAll(() => deleteRows(at.pool));

  /** A database whose statements are counted and can fail, and a test clock. */
  function start() {
    let [statements, time, isAway] = [0, 0, false];
    const query = async (statement: string) => {
      statements += 1;
      if (isAway) throw new Error('away');
      return at.pool.query(statement);
    };
    const metrics = createMetrics({ service: 'test' });
    tableSizeMetrics(metrics, tableSizes({ query } as unknown as typeof at.pool, { everyMs: 60_000, now: () => time }));
    return {
      statements: () => statements,
      pass: (ms: number) => {
        time += ms;
      },
      setAway: (to: boolean) => {
        isAway = to;
      },
      async scrape() {
        const text = await metrics.registry.metrics();
        const lines = [...text.matchAll(/^corral_table_(rows|bytes)\{(?:.*,)?table="(\w+)".*\} (\S+)$/gm)];
        return lines.map(([, what, table, value]) => ({ what, table, value: Number(value) }));
      },
    };
  }
  it('are reported for each of our tables, and no others', async () => {
    await at.pool.query('CREATE TABLE somebody_elses (id int)');
    await at.pool.query('ANALYZE');

    const metrics = await start().scrape();

    for (const kind of ['rows', 'bytes']) {
      expect(
        metrics
          .filter(({ what }) => what === kind)
          .map(({ table }) => table)
          .sort(),
      ).toEqual([...ownTables].sort());
    }
    const { rows } = await at.pool.query(
      `SELECT tablename FROM pg_tables WHERE schemaname = 'public'
         AND tablename NOT IN ('_prisma_migrations', 'somebody_elses')`,
    );
    expect(rows.map(({ tablename }) => tablename).sort()).toEqual([...ownTables].sort());
  });

  it('grow with their contents', async () => {
    await at.pool.query('INSERT INTO team (slug) SELECT $1 || n FROM generate_series(1, 500) n', ['many-']);
    await at.pool.query('ANALYZE team');

    const metrics = await start().scrape();

    expect(metrics).toContainEqual({ what: 'rows', table: 'team', value: 500 });
    expect(metrics.find(({ what, table }) => what === 'bytes' && table === 'team')?.value).toBeGreaterThan(50_000);
  });

  it('are missing during a database outage, and available again afterwards', async () => {
    const { scrape, pass, setAway } = start();
    await scrape();
    pass(60_000);

    setAway(true);
    expect(await scrape()).toEqual([]);
    setAway(false);

    expect((await scrape()).length).toBeGreaterThan(0);
  });
});
