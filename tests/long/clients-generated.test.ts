import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { missingOf, walk } from '../support/clients/client-programs.js';
import { pythonClient, pythonGenerator, validateDocuments } from '../support/clients/generate-clients.js';
import { signIn } from '../support/clusters/client.js';
import { type ClusterSystem, startClusterSystem } from '../support/clusters/start-cluster-system.js';

/* A program that uses a generated client declares a cluster, waits until it is ready, reads it, sends it back and deletes it. */

const python = await pythonGenerator();
const TIMEOUT_MS = 300_000;

let folder = '';
let system: ClusterSystem;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-generated-'));
  system = await startClusterSystem();
}, TIMEOUT_MS);
afterAll(async () => {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
}, 120_000);

async function environment(cluster: string): Promise<Record<string, string>> {
  const base = system.apis[0]?.base as string;
  const cookie = await signIn(base, 'member@acme.test');
  return {
    CORRAL_CLUSTERS: base,
    CORRAL_SESSION: cookie.replace(/^sessionid=/, ''),
    CORRAL_TEAM: 'acme',
    CORRAL_CLUSTER: cluster,
    CORRAL_REGION: system.surroundings.region,
    CORRAL_CONNECTION: system.surroundings.connectionRef,
    PYTHONPATH: folder,
  };
}

describeNeeding(describe, missingOf(python), 'the generator of clients in Python', () => {
  it('finds documents that OpenAPI allows', () => validateDocuments(python, folder), TIMEOUT_MS);

  it(
    'makes a client that works with the service, with one class for an accepted and a read cluster',
    async () => {
      expect(await walk(await pythonClient(python, folder), [], await environment('generated'))).toMatchObject({
        created: { state: 'succeeded' },
        read: { phase: 'Ready', pools: ['general'] },
        deleted: { state: 'succeeded' },
        missing: { code: 'not_found' },
        accepted: { type: 'Cluster', createdAt: expect.stringMatching(/^\d{4}-.*\+00:00$/) },
        sentBack: { generation: 1 },
      });
    },
    TIMEOUT_MS,
  );
});
