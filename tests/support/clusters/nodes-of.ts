import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { missingKubectl } from '../clients/client-programs.js';
import { runCommand } from '../clients/run-command.js';

export const hasKubectl = missingKubectl() === null;

/** The names of the nodes that the holder of a kubeconfig sees, read by kubectl if it is there, else by its library. */
export async function nodesOf(kubeconfig: string): Promise<string[]> {
  return (hasKubectl ? await askKubectl(kubeconfig) : await askLibrary(kubeconfig)).sort();
}

async function askLibrary(kubeconfig: string): Promise<string[]> {
  const { items } = await clientOf(kubeconfig).listNode();
  return items.map(({ metadata }) => metadata?.name ?? '');
}

/** A client that keeps using the same credential. */
export function clientOf(kubeconfig: string): CoreV1Api {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  return config.makeApiClient(CoreV1Api);
}

/** @throws Error with the output of kubectl if it exits with another code than 0 */
export async function askKubectl(kubeconfig: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-kubectl-'));
  try {
    const file = join(folder, 'kubeconfig');
    await writeFile(file, kubeconfig, { mode: 0o600 });
    const command = ['kubectl', '--kubeconfig', file, '--cache-dir', folder, 'get', 'nodes', '--output', 'name'];
    const { code, stdout, stderr } = await runCommand(command);
    if (code !== 0) throw new Error(`kubectl ended with ${code}: ${stderr}`);
    return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.replace(/^node\//, '')]));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
