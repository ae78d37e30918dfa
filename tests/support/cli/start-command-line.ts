import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { stringify } from 'yaml';
import { type ClusterSystem, startClusterSystem } from '../clusters/start-cluster-system.js';
import { allowInBrowser } from './allow-in-browser.js';
import { type Corral, corralCommand } from './corral.js';

/** Real services, and two who use them with the command of teams. */
export interface CommandLine {
  readonly system: ClusterSystem;
  readonly apiUrl: string;
  readonly dnsUrl: string;
  /** The command of an administrator of `acme`, who signed in with the browser. */
  readonly ann: Corral;
  /** The command of a pipeline, with the token of a service account of `acme`. */
  readonly ci: Corral;
  /** The document of a cluster with one pool. */
  declared(name: string, spec?: object): string;
  stop(): Promise<void>;
}

export async function startCommandLine(): Promise<CommandLine> {
  const system = await startClusterSystem({
    gateways: 1,
    teams: ['acme', 'globex'],
    speed: { createMs: 100, deleteMs: 100 },
  });
  const apiUrl = system.apis[0]?.base as string;
  const ann = await corralCommand();
  const login = ann.start(['login', '--url', apiUrl, '--no-browser', '--context', 'prod']);
  const [page = ''] = await login.untilSaid(/http\S+authorize\S+/);
  expect(await allowInBrowser(page, 'admin@acme.test')).toContain('You are signed in.');
  expect(await login.ended).toMatchObject({ code: 0, err: expect.stringContaining('Open this page') });
  await ann.json('accounts', 'set', 'ci', '--role', 'member');
  const { out: token } = await ann.run('tokens', 'account', 'create', 'ci', '--days', '1');
  const ci = await corralCommand({ CORRAL_URL: apiUrl, CORRAL_TOKEN: token.trim(), CORRAL_TEAM: 'acme' });
  return {
    system,
    apiUrl,
    dnsUrl: system.gateways[0]?.url as string,
    ann,
    ci,
    declared: (name, spec = {}) =>
      stringify({
        apiVersion: 'clusters.corral.dev/v1',
        kind: 'Cluster',
        metadata: { name },
        spec: {
          ...system.surroundings,
          kubernetesVersion: '1.33',
          nodePools: [{ name: 'general', machineType: 'cx22', minimum: 1, maximum: 1 }],
          ...spec,
        },
      }),
    async stop() {
      await ann.remove();
      await ci.remove();
      await system.stop();
    },
  };
}

/** Writes a file of these documents into the folder of a command. @returns its path */
export async function fileOf(corral: Corral, name: string, ...documents: string[]): Promise<string> {
  const path = join(corral.folder, name);
  await writeFile(path, documents.join('---\n'));
  return path;
}
