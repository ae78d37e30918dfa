import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clusterOpenApi, dnsOpenApi, dnsRoutes } from '@corral/contracts';
import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { missingOf, pythonEnvironment, walk } from '../../support/clients/client-programs.js';
import { type Command, type CommandOptions, runCommand } from '../../support/clients/run-command.js';
import { signIn } from '../../support/clusters/client.js';
import { type ClusterSystem, startClusterSystem } from '../../support/clusters/start-cluster-system.js';
import { builtFile } from '../../support/system/program.js';

/*
 * Generators of other people make clients of the OpenAPI documents. They must not warn, what they make must compile, and
 * a program that uses it must work with the running service.
 */

const python = await pythonEnvironment('generated-python', { atLeast: [3, 10] });
const TIMEOUT_MS = 300_000;

let system: ClusterSystem;
let folder = '';
const documents = ['cluster', 'dns'] as const;
const documentOf = (name: (typeof documents)[number]): string => join(folder, `${name}.json`);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-generated-'));
  const [clusters, dns] = [
    clusterOpenApi('https://clusters.example.org'),
    dnsOpenApi('https://d.example.org/v1', dnsRoutes),
  ];
  await writeFile(documentOf('cluster'), JSON.stringify(clusters));
  await writeFile(documentOf('dns'), JSON.stringify(dns));
  system = await startClusterSystem();
}, TIMEOUT_MS);
afterAll(async () => {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
}, 120_000);

/** Runs a command that must succeed. @returns all of its output */
async function output(command: Command, options: CommandOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await runCommand(command, { timeoutMs: TIMEOUT_MS, ...options });
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${stdout}${stderr}`);
  return `${stdout}${stderr}`;
}

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
  };
}

const whatEveryClientSees = {
  created: { state: 'succeeded' },
  read: { phase: 'Ready', pools: ['general'] },
  deleted: { state: 'succeeded' },
  missing: { code: 'not_found' },
};

describe('types that openapi-typescript generates', () => {
  it(
    'compile, are the same for the same things, and describe what the service does',
    async () => {
      const source = builtFile('tests/clients/generated-typescript');
      const bin = (name: string) => join(source, 'node_modules', '.bin', name);
      const generated = join(source, 'generated');
      await mkdir(generated, { recursive: true });
      for (const name of documents) {
        const types = join(generated, `${name}.ts`);
        const said = await output([
          bin('openapi-typescript'),
          documentOf(name),
          '--default-non-nullable=false',
          '-o',
          types,
        ]);
        expect(said).not.toMatch(/warn|error|⚠/i);
      }
      await output([bin('tsc'), '--project', source]);

      const program = join(source, 'dist', 'walk.js');
      const steps = await walk({ kind: 'found', command: [process.execPath, program] }, [], await environment('typed'));

      expect(steps).toMatchObject({ ...whatEveryClientSees, accepted: { name: 'typed' }, sentBack: { status: 200 } });
    },
    TIMEOUT_MS,
  );
});

describeNeeding(describe, missingOf(python), 'a client that openapi-python-client generates', () => {
  const run = (args: Command, options: CommandOptions = {}) =>
    output([...(python.kind === 'found' ? python.command : []), ...args], options);

  it('is of valid documents', () => run(['-m', 'openapi_spec_validator', ...documents.map(documentOf)]), TIMEOUT_MS);

  it(
    'compiles, has one class for the same things, and works with the service',
    async () => {
      const source = builtFile('tests/clients/generated-python');
      const config = join(source, 'generator.yml');
      for (const name of documents) {
        const options = ['--path', documentOf(name), '--output-path', join(folder, name), '--config', config];
        await run(['-m', 'openapi_python_client', 'generate', '--meta', 'none', '--fail-on-warning', ...options]);
      }
      await run(['-m', 'compileall', '-q', folder]);
      await cp(join(folder, 'cluster'), join(folder, 'cluster_management_api_client'), { recursive: true });

      const program = join(source, 'walk.py');
      const command = python.kind === 'found' ? [...python.command, program] : [];
      const env = { ...(await environment('generated')), PYTHONPATH: folder };
      const steps = await walk({ kind: 'found', command }, [], env);

      expect(steps).toMatchObject({
        ...whatEveryClientSees,
        accepted: { type: 'Cluster', createdAt: expect.stringMatching(/^\d{4}-.*\+00:00$/) },
        sentBack: { generation: 1 },
      });
    },
    TIMEOUT_MS,
  );
});
