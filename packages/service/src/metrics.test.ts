import { describe, expect, it } from '@jest/globals';
import { createMetrics, poolMetrics } from './metrics.js';

it('the build is a metric of every process', async () => {
  const text = await createMetrics({ service: 'test' }).registry.metrics();

  expect(text).toContain(
    `corral_build_info{version="development",commit="",node="${process.version}",service="test"} 1`,
  );
});

describe('the metrics of pools', () => {
  it('follow the pools, and add up to the maximum', async () => {
    const metrics = createMetrics({ service: 'test' });
    const pool = { totalCount: 3, idleCount: 1, waitingCount: 0, options: { max: 5 } };
    poolMetrics(metrics, { reads: pool });
    const read = async (name: string) =>
      (await metrics.registry.getSingleMetric(name)?.get())?.values.map(({ labels, value }) => [labels.state, value]);

    expect(await read('corral_database_connections')).toEqual([
      ['used', 2],
      ['idle', 1],
      ['free', 2],
    ]);
    Object.assign(pool, { totalCount: 5, idleCount: 0, waitingCount: 7 });
    expect(await read('corral_database_connections')).toEqual([
      ['used', 5],
      ['idle', 0],
      ['free', 0],
    ]);
    expect(await read('corral_database_waiting')).toEqual([[undefined, 7]]);
  });
});
