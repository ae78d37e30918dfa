import { createMetrics } from '@corral/service';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ownTables, tableSizeMetrics, tableSizes } from '../../src/upkeep/table-sizes.js';
import { type ClusterRows, openClusterRows } from '../support/cluster-rows.js';

let at: ClusterRows;
beforeAll(async () => {
  at = await openClusterRows();
});
afterAll(() => at.close());

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

describe('the sizes of tables', () => {
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

  it('are read in one statement, at most once per interval', async () => {
    const { scrape, statements, pass } = start();

    await Promise.all([scrape(), scrape(), scrape()]);
    pass(59_999);
    await scrape();
    expect(statements()).toBe(1);

    pass(1);
    await scrape();
    expect(statements()).toBe(2);
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
