import { upstreamBudgetMetrics } from '@corral/admission';
import { createMetrics } from '@corral/service';
import { afterEach, describe, expect, it } from '@jest/globals';
import { aClient, aWrite } from '../a-client.js';
import { type BucketUpstream, startBucketUpstream } from './bucket-upstream.js';

let upstream: BucketUpstream | undefined;
afterEach(() => upstream?.close());

/** A client of an upstream with so many calls left, and what its metrics say. */
async function startMeasured(remaining: number) {
  upstream = await startBucketUpstream(360, remaining);
  const metrics = createMetrics({ service: 'test' });
  const { client } = aClient({
    baseUrl: upstream.baseUrl,
    onTurn: upstreamBudgetMetrics(metrics, () => client.budget()),
  });
  const value = async (name: string, suffix = ''): Promise<number | undefined> => {
    const text = await metrics.registry.metrics();
    const line = text.split('\n').find((each) => each.startsWith(`${name}{`) && each.includes(suffix));
    return line === undefined ? undefined : Number(line.split(' ').at(-1));
  };
  return { client, value };
}

describe('the metrics of the budget', () => {
  it('state the limit and the remaining budget only after the upstream has stated them', async () => {
    const { client, value } = await startMeasured(200);
    expect(await value('corral_upstream_budget_left_requests')).toBeUndefined();

    await client.write(aWrite());
    await client.close();

    expect(await value('corral_upstream_budget_limit_requests')).toBe(360);
    expect(await value('corral_upstream_budget_left_requests')).toBe(199);
  });

  it('state who waited how long, and who got no turn, by class', async () => {
    const { client, value } = await startMeasured(1);

    const kinds = [];
    for (const method of ['POST', 'POST', 'DELETE'] as const) kinds.push((await client.write(aWrite({ method }))).kind);
    await client.close();

    expect(kinds).toEqual(['accepted', 'throttled', 'throttled']);
    expect(await value('corral_upstream_wait_seconds_count', 'class="write"')).toBe(1);
    expect(await value('corral_upstream_refused_total', 'class="write"')).toBe(1);
    expect(await value('corral_upstream_refused_total', 'class="cleanup"')).toBe(1);
    expect(await value('corral_upstream_waiting_requests', 'class="write"')).toBe(0);
  });
});
