import type { Cluster, Operation } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { expect } from '@jest/globals';
import type { Answer } from '../clients/answer.js';
import type { HeldShoot } from '../crashes/garden-judge.js';
import { clusterIdOf, findShootDifferences } from '../crashes/garden-judge.js';
import { operationIdOf, type TeamClient } from './client.js';
import type { ClusterSystem } from './start-cluster-system.js';

/** A pool with the smallest machine type. */
export const aPool = (changes: object = {}) => ({
  name: 'general',
  machineType: 'cx22',
  minimum: 1,
  maximum: 2,
  ...changes,
});

/** The body of a declaration: the smallest cluster, with one pool. */
export const aCluster = ({ surroundings }: ClusterSystem, changes: object = {}) => ({
  spec: { ...surroundings, kubernetesVersion: '1.33', nodePools: [aPool()], ...changes },
});

/** Sends a change that must be accepted. @returns its operation once that has ended */
export async function change(
  client: TeamClient,
  method: 'PUT' | 'POST' | 'DELETE',
  path: string,
  body?: object,
): Promise<Operation> {
  const answer = await client.insist({ method, path, ...(body === undefined ? {} : { body }) });
  const id = operationIdOf(answer);
  if (id === null) throw new Error(`${method} ${path} was answered ${answer.status} ${answer.text}: no operation`);
  return client.untilEnded(id);
}

export async function getCluster(client: TeamClient, name: string): Promise<Cluster> {
  const cluster = await client.findCluster(name);
  if (cluster === null) throw new Error(`There is no cluster ${name}.`);
  return cluster;
}

/** @returns the cluster as soon as it fits. The error on a timeout contains its last state */
export async function untilCluster(
  client: TeamClient,
  name: string,
  description: string,
  fits: (cluster: Cluster) => boolean,
): Promise<Cluster> {
  return waitFor(`cluster ${name} to be ${description}`, async () => {
    const cluster = await getCluster(client, name);
    if (fits(cluster)) return cluster;
    throw new Error(JSON.stringify({ ...cluster.metadata, ...cluster.status }));
  });
}

export const untilPhase = (client: TeamClient, name: string, phase: Cluster['status']['phase']): Promise<Cluster> =>
  untilCluster(client, name, phase, ({ status }) => status.phase === phase);

/** Returns what the garden holds of a cluster, or null if it holds nothing. */
export async function findShoot({ garden }: ClusterSystem, { metadata }: Cluster): Promise<HeldShoot | null> {
  return (await garden.shoots()).find((shoot) => clusterIdOf(shoot) === metadata.id) ?? null;
}

export async function getShoot(system: ClusterSystem, cluster: Cluster): Promise<HeldShoot> {
  const shoot = await findShoot(system, cluster);
  if (shoot === null) throw new Error(`The garden holds nothing of cluster ${cluster.metadata.name}.`);
  return shoot;
}

/** Asserts that the garden holds what the team has declared. */
export async function expectAsDeclared(system: ClusterSystem, client: TeamClient, name: string): Promise<void> {
  const cluster = await getCluster(client, name);
  expect(findShootDifferences([cluster], [await getShoot(system, cluster)])).toEqual([]);
  expect(cluster.metadata.observedGeneration).toBe(cluster.metadata.generation);
}

export const conditionOf = ({ status }: Pick<Cluster, 'status'>, type: string) =>
  status.conditions.find((condition) => condition.type === type);

export const codeOf = ({ json }: Answer): string => json.code;
