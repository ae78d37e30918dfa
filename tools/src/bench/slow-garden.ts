import { Agent } from 'node:http';
import { waitFor } from '@corral/testing';
import { clusterSpec } from '../rig/cluster-spec.js';
import { mustExchange } from '../rig/exchange.js';
import type { Service } from '../rig/services.js';
import type { Installation } from './installation.js';
import { clusterOf, slugOf } from './sizes.js';

const LATE_MS = 1_500;
const CHANGES = 120;
const AT_ONCE = 8;
/** Passes of each reconciler at a time: so few that two cores are not the limit, whatever else runs on them. */
const CONCURRENCY = '4';
/** Numbers of reconcilers, in the order in which they are measured. */
const WORKERS = [1, 2, 4] as const;
const SHOOT = '/apis/core.gardener.cloud/v1beta1/namespaces/:namespace/shoots/:name';

/** How a number of reconcilers converges many changes that come at once. */
export interface Converged {
  readonly workers: number;
  readonly changesPerSecond: number;
  /** Reads and writes of a Shoot, per change. */
  readonly callsPerChange: number;
}

/**
 * Converges changes while each call to the garden takes 1.5 s, with one, two and four reconcilers. They replace the one of the
 * installation.
 */
export async function convergeSlowly(installation: Installation): Promise<Converged[]> {
  const { cloud, start } = installation;
  // What an earlier run has left is no work of this one.
  await untilConverged(installation);
  const rule = { match: { api: 'garden' }, times: null, effect: { delayMs: LATE_MS } };
  await askCloud(cloud.adminUrl, 'POST', '/faults', rule);
  await installation.reconciler.process.stop();
  const workers: Service[] = [];
  const measured: Converged[] = [];
  try {
    for (const count of WORKERS) {
      while (workers.length < count) workers.push(await start.reconciler({ RECONCILE_CONCURRENCY: CONCURRENCY }));
      measured.push(await converge(installation, count, 50 + count));
    }
  } finally {
    await askCloud(cloud.adminUrl, 'DELETE', '/faults');
    await Promise.all(workers.map(({ process }) => process.stop()));
  }
  return measured;
}

async function converge(installation: Installation, workers: number, maximum: number): Promise<Converged> {
  const { adminUrl } = installation.cloud;
  const before = await shootCalls(adminUrl);
  const startedAt = performance.now();
  await changeAll(installation, maximum);
  await untilConverged(installation);
  const seconds = (performance.now() - startedAt) / 1_000;
  const calls = (await shootCalls(adminUrl)) - before;
  return { workers, changesPerSecond: CHANGES / seconds, callsPerChange: calls / CHANGES };
}

async function changeAll({ size, api, cookies }: Installation, maximum: number): Promise<void> {
  const agent = new Agent({ keepAlive: true });
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
  agent.destroy();
}

async function untilConverged({ rig }: Installation): Promise<void> {
  const isConverged = async (): Promise<boolean> => {
    const { rows } = await rig.pool.query<{ open: number }>(
      'SELECT count(*)::int AS open FROM cluster WHERE observed_generation < generation OR due_at IS NOT NULL',
    );
    return rows[0]?.open === 0;
  };
  await waitFor('all changes to converge', isConverged, { timeoutMs: 600_000 });
}

async function shootCalls(adminUrl: string): Promise<number> {
  const { byRoute } = (await (await askCloud(adminUrl, 'GET', '/calls')).json()) as {
    byRoute: Record<string, number>;
  };
  return (byRoute[`GET ${SHOOT}`] ?? 0) + (byRoute[`APPLY ${SHOOT}`] ?? 0);
}

async function askCloud(adminUrl: string, method: string, path: string, body?: object): Promise<Response> {
  const sent =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const response = await fetch(`${adminUrl}${path}`, { method, ...sent });
  if (!response.ok) throw new Error(`The local cloud answered ${response.status} to ${method} ${path}.`);
  return response;
}
