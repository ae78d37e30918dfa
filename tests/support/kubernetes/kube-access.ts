import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CommandResult, runCommand } from '../clients/run-command.js';
import type { ApiServer } from './start-api-server.js';

type Place = { readonly namespace?: string };

/** kubectl with all rights. Objects are named as `deployment/shop`. Functions throw an Error with its output if it fails. */
export interface KubeAccess {
  /** The path of its kubeconfig. */
  readonly path: string;
  /** @returns what it prints */
  run(...args: string[]): Promise<string>;
  /** Runs commands of a page. Never rejects. */
  script(text: string): Promise<CommandResult>;
  get<T>(object: string, place: Place): Promise<T>;
  /** A value of a Secret, decoded. */
  secret(of: { readonly name: string; readonly key: string }, place: Place): Promise<string>;
  /** Says what a controller or a node would say of the object. */
  setStatus(object: string, place: Place, status: object): Promise<void>;
  /** @returns the path of a kubeconfig with the rights of a service account */
  kubeconfigOf(serviceAccount: string, place: Place): Promise<string>;
}

const SCRIPT_MS = 300_000;

/** @param folder for its files */
export async function kubeAccess(folder: string, { url, token, authority }: ApiServer['access']): Promise<KubeAccess> {
  const keep = async (name: string, bearer: string): Promise<string> => {
    const cluster = { server: url, 'certificate-authority-data': Buffer.from(authority).toString('base64') };
    const path = join(folder, `${name}.kubeconfig`);
    const kubeconfig = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
      clusters: [{ name, cluster }],
      users: [{ name, user: { token: bearer } }],
      contexts: [{ name, context: { cluster: name, user: name } }],
    };
    await writeFile(path, JSON.stringify(kubeconfig), { mode: 0o600 });
    return path;
  };
  const path = await keep('admin', token);
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCommand(['kubectl', '--kubeconfig', path, ...args]);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
    return stdout.trim();
  };
  const within = ({ namespace = 'default' }: Place) => ['--namespace', namespace];
  const get: KubeAccess['get'] = async (object, place) =>
    JSON.parse(await run('get', object, ...within(place), '--output', 'json'));
  return {
    path,
    run,
    script: (text) => runCommand(['bash', '-ec', text], { env: { KUBECONFIG: path }, timeoutMs: SCRIPT_MS }),
    get,
    async secret({ name, key }, place) {
      const { data } = await get<{ data: Record<string, string> }>(`secret/${name}`, place);
      return Buffer.from(data[key] ?? '', 'base64').toString();
    },
    async setStatus(object, place, status) {
      const patch = ['--subresource', 'status', '--type', 'merge', '--patch', JSON.stringify({ status })];
      await run('patch', object, ...within(place), ...patch);
    },
    kubeconfigOf: async (account, place) => keep(account, await run('create', 'token', account, ...within(place))),
  };
}
