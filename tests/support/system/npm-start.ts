import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type RunningProcess, startProcess } from '@corral/testing';
import { builtFile } from './program.js';
import type { Env } from './system-parts.js';

export interface DevTeam {
  readonly slug: string;
  readonly dnsToken: string;
  readonly connectionRef: string;
  readonly servers: readonly { readonly serverID: number }[];
  readonly admin: { readonly email: string; readonly sessionid: string };
  readonly member: { readonly email: string; readonly sessionid: string };
}

/** `dev.json`, as far as tests read it. */
export interface DevFile {
  readonly dnsUrl: string;
  readonly caFile: string;
  readonly zoneName: string;
  readonly dnsServerPort: number;
  readonly baseUrl: string;
  readonly consoleUrl: string;
  readonly upstream: { readonly adminUrl: string };
  readonly defaults: { readonly region: string; readonly kubernetesVersion: string; readonly machineType: string };
  readonly teams: readonly DevTeam[];
}

/** The environment without what `npm start` reads: it must not reach another installation. */
const withoutSettings = Object.fromEntries(
  ['DATABASE_URL', 'REDIS_URL', 'HCLOUD_API_URL', 'HCLOUD_TOKEN', 'HCLOUD_ENDPOINT', 'GARDEN_KUBECONFIG'].map(
    (name) => [name, undefined],
  ),
);

/** What `npm start` runs once everything is built. Under root, the folder has to be open to the user that runs Postgres. */
export async function npmStart(stateDir: string, env: Env = {}): Promise<{ running: RunningProcess; dev: DevFile }> {
  const running = await startProcess({
    command: process.execPath,
    args: ['--enable-source-maps', builtFile('tools/programs/start/main.js')],
    env: { ...withoutSettings, ...env, CORRAL_STATE_DIR: stateDir },
    readyLine: 'Ctrl-C stops everything',
    readyTimeoutMs: 200_000,
  });
  return { running, dev: JSON.parse(await readFile(join(stateDir, 'dev.json'), 'utf8')) };
}
