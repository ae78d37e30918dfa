import { operationKinds, operationOutcomes } from '@corral/contracts';
import { createMetrics } from '@corral/service';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { countOperations, operationEndMetrics } from '../../src/upkeep/count-operations.js';
import { type ClusterRows, openClusterRows, type TestTeam } from '../support/cluster-rows.js';

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
