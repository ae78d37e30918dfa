import { Agent } from 'node:http';
import { waitFor } from '@corral/testing';
import { clusterSpec } from '../rig/cluster-spec.js';
import { mustExchange } from '../rig/exchange.js';
import type { Installation } from './installation.js';
import { clusterOf, slugOf } from './sizes.js';

const LATE_MS = 1_500;
const CHANGES = 400;
const AT_ONCE = 8;

/** How many changes per second converge while each call to the garden takes 1.5 s, with one reconciler and with two. */
export async function convergeSlowly(installation: Installation): Promise<{ one: number; two: number }> {
  const faults = `${installation.cloud.adminUrl}/faults`;
  const rule = { match: { api: 'garden' }, times: null, effect: { delayMs: LATE_MS } };
  const set = async (method: string, body: object | null): Promise<void> => {
    const options =
      body === null ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const { ok, status } = await fetch(faults, { method, ...options });
    if (!ok) throw new Error(`The garden was not slowed down: ${status}`);
  };
  await set('POST', rule);
  try {
    const one = await changesPerSecond(installation, 50);
    const second = await installation.start.reconciler();
    const two = await changesPerSecond(installation, 51);
    await second.process.stop();
    return { one, two };
  } finally {
    await set('DELETE', null);
  }
}

/** From the first of many changes until the last has converged. */
async function changesPerSecond({ size, api, cookies, rig }: Installation, maximum: number): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  const startedAt = performance.now();
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < CHANGES) {
      const { team, name } = clusterOf(size, next++);
      const url = `${api.url}/api/v1/teams/${slugOf(team)}/clusters/${name}/`;
      const headers = { cookie: cookies[team] as string };
      await mustExchange({ url, method: 'PUT', headers, body: { spec: clusterSpec(maximum) } }, agent);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const isConverged = async (): Promise<boolean> => {
    const { rows } = await rig.pool.query<{ open: number }>(
      'SELECT count(*)::int AS open FROM cluster WHERE observed_generation < generation OR due_at IS NOT NULL',
    );
    return rows[0]?.open === 0;
  };
  await waitFor('all changes to converge', isConverged, { timeoutMs: 600_000 });
  agent.destroy();
  return CHANGES / ((performance.now() - startedAt) / 1_000);
}
