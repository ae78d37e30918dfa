import { createMetrics } from '@corral/service';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { openOperationMetrics } from '../../src/upkeep/open-operations.js';
import { type ClusterRows, openClusterRows } from '../support/cluster-rows.js';

let at: ClusterRows;
beforeAll(async () => {
  at = await openClusterRows();
});
afterAll(() => at.close());
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
    await at.pool.query(`UPDATE operation SET state = 'succeeded', progress = 100, finished_at = now() WHERE id = $1`, [
      ended.operationId,
    ]);

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
