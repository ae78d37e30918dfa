import { isDeepStrictEqual } from 'node:util';
import { type Cluster, isOpenOperation, type Operation } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { expect } from '@jest/globals';
import type { TeamClient } from '../clusters/client.js';
import { readRowChanges } from '../clusters/row-history.js';
import type { ClusterSystem } from '../clusters/start-cluster-system.js';
import type { ClusterChaos } from './cluster-clients.js';
import { findDoubleCreations, findShootDifferences, isStarted } from './garden-judge.js';
import { findBrokenRules } from './row-judge.js';

/** Covers the leases of killed processes, the back-off after faults, and the time after which no late creation can follow. */
const SETTLED_WITHIN_MS = 150_000;

/** Waits until no operation is open and nothing is being deleted. */
export async function untilSettled({ pool }: ClusterSystem): Promise<void> {
  await waitFor(
    'every operation to end',
    async () => {
      const { rows } = await pool.query(
        `SELECT o.id, o.kind, o.target_name, o.state, o.progress, c.phase, c.failures, c.due_at, c.lease_until,
                clock_timestamp() AS now
         FROM operation o LEFT JOIN cluster c ON c.id = o.target_id WHERE o.state IN ('queued', 'running')`,
      );
      expect(rows).toEqual([]);
      return true;
    },
    { timeoutMs: SETTLED_WITHIN_MS },
  );
}

/** Every problem once all work has settled: clients, rows and garden must agree. */
export async function findContradictions(system: ClusterSystem, chaos: ClusterChaos): Promise<string[]> {
  const changes = await readRowChanges(system.pool);
  const clusters = await listAll<Cluster>(system, '/clusters/');
  const operations = await listAll<Operation>(system, '/operations/');
  const names = changes.filter(({ table }) => table === 'cluster').map(({ row }) => row.shoot_name as string);
  return [
    ...findBrokenRules(changes),
    ...findLostOperations(chaos, operations),
    ...findLostBeliefs(chaos, clusters),
    ...findUnfinished(clusters),
    ...findShootDifferences(clusters, await system.garden.shoots()),
    ...findDoubleCreations(await system.garden.lives(), new Set(names)),
  ];
}

/** Every operation that a client knows exists and has ended. In these runs, no failure is for the team to fix. */
function findLostOperations({ operations: known }: ClusterChaos, operations: readonly Operation[]): string[] {
  const ids = new Set<string>(operations.map(({ id }) => id));
  return [
    ...known.filter((id) => !ids.has(id)).map((id) => `operation ${id} was accepted and is lost`),
    ...operations
      .filter((operation) => operation.state === 'failed' || isOpenOperation(operation))
      .map((operation) => `operation ended in no success: ${JSON.stringify(operation)}`),
  ];
}

function findLostBeliefs({ known }: ClusterChaos, clusters: readonly Cluster[]): string[] {
  return known.flatMap(({ team, name, belief }) => {
    const cluster = clusters.find(({ metadata }) => metadata.team === team && metadata.name === name);
    if (belief.kind !== 'present') return cluster === undefined ? [] : [`${name} of ${team} is ${belief.kind} no more`];
    if (cluster === undefined) return [`${name} of ${team} was declared and is lost`];
    if (isDeepStrictEqual(cluster.spec, belief.spec)) return [];
    return [`${name} of ${team} is ${JSON.stringify(cluster.spec)}, but ${JSON.stringify(belief.spec)} was declared`];
  });
}

function findUnfinished(clusters: readonly Cluster[]): string[] {
  return clusters
    .filter((cluster) => isStarted(cluster) && cluster.metadata.observedGeneration !== cluster.metadata.generation)
    .map(({ metadata, status }) => `${metadata.name} has not converged: ${JSON.stringify({ ...metadata, ...status })}`);
}

async function listAll<T>({ teams }: ClusterSystem, path: string): Promise<T[]> {
  const lists = await Promise.all(teams.map(({ member }) => listPages<T>(member, path)));
  return lists.flat();
}

async function listPages<T>(client: TeamClient, path: string): Promise<T[]> {
  const items: T[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = `?limit=200${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
    const { status, json, text } = await client.insist({ method: 'GET', path: `${path}${query}` });
    if (status !== 200) throw new Error(`${path} was answered ${status} ${text}`);
    items.push(...(json.items as T[]));
    cursor = json.next as string | null;
  }
  return items;
}
