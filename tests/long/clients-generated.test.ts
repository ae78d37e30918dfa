import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clusterOpenApi, dnsOpenApi, dnsRoutes } from '@corral/contracts';
import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, missingOf, pythonEnvironment, walk } from '../support/clients/client-programs.js';
import { type Command, runCommand } from '../support/clients/run-command.js';
import { signIn } from '../support/clusters/client.js';
import { type ClusterSystem, startClusterSystem } from '../support/clusters/start-cluster-system.js';
import { builtFile } from '../support/system/program.js';
import { type Ends, ownFolder, undo } from '../support/system/system-parts.js';

/* A program that uses a generated client declares a cluster, waits until it is ready, reads it, sends it back and deletes it. */

const python = await pythonEnvironment('generated-python', { atLeast: [3, 10] });
const command = python.kind === 'found' ? python.command : [];
const TIMEOUT_MS = 300_000;

const documents = {
  cluster: () => clusterOpenApi('https://clusters.example.org'),
  dns: () => dnsOpenApi('https://dns.example.org/v1', dnsRoutes),
} as const;
const names = Object.keys(documents) as (keyof typeof documents)[];

const ends: Ends = [];
let folder: string;
let system: ClusterSystem;
beforeAll(async () => {
  folder = await ownFolder(ends);
  system = await startClusterSystem();
  ends.push(system.stop);
}, TIMEOUT_MS);
afterAll(() => undo(ends));

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
  it('finds documents that OpenAPI allows', () => validateDocuments(command, folder), TIMEOUT_MS);

  it(
    'makes a client that works with the service, with one class for an accepted and a read cluster',
    async () => {
      expect(await walk(await pythonClient(command, folder), [], await environment('generated'))).toMatchObject({
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

/** @returns all that the command printed @throws Error with it, if the command fails */
async function output(command: Command): Promise<string> {
  const { code, stdout, stderr } = await runCommand(command, { timeoutMs: TIMEOUT_MS });
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${stdout}${stderr}`);
  return `${stdout}${stderr}`;
}

/** Writes the documents. @returns the file of each */
async function writeDocuments(folder: string): Promise<Record<keyof typeof documents, string>> {
  const files = names.map((name) => [name, join(folder, `${name}.json`)] as const);
  for (const [name, file] of files) await writeFile(file, JSON.stringify(documents[name]()));
  return Object.fromEntries(files) as Record<keyof typeof documents, string>;
}

/**
 * A client of openapi-python-client, byte-compiled, with the program of `clients/generated-python`.
 *
 * @param folder must be in `PYTHONPATH` of the program
 */
async function pythonClient(command: Command, folder: string): Promise<Client> {
  const source = builtFile('tests/clients/generated-python');
  const files = await writeDocuments(folder);
  for (const name of names) {
    const paths = ['--path', files[name], '--output-path', join(folder, `${name}_client`)];
    const options = ['--meta', 'none', '--fail-on-warning', '--config', join(source, 'generator.yml')];
    await output([...command, '-m', 'openapi_python_client', 'generate', ...paths, ...options]);
  }
  await output([...command, '-m', 'compileall', '-q', folder]);
  await cp(join(source, 'walk.py'), join(folder, 'walk.py'));
  return { kind: 'found', command: [...command, join(folder, 'walk.py')] };
}

/** Checks the documents against the definition of OpenAPI. */
async function validateDocuments(command: Command, folder: string): Promise<void> {
  const files = Object.values(await writeDocuments(folder));
  await output([...command, '-m', 'openapi_spec_validator', ...files]);
}
