import { basename, resolve } from 'node:path';
import { isSea } from 'node:sea';
import { stringify } from 'yaml';
import type { Cli } from '../cli.js';
import { connectTeam } from '../clusters/team-api.js';
import { chosenContext } from '../settings/settings.js';
import { keepCredential } from './exec-credential.js';
import { issueKubeconfig, type Kubeconfig, type KubeconfigOptions } from './issue.js';
import { checkFile, mergeIntoFile } from './merge.js';
import { nameEntries } from './names.js';

interface PrintOptions extends KubeconfigOptions {
  readonly exec?: boolean;
  readonly merge?: boolean;
  readonly keepContext?: boolean;
  readonly name?: string;
}

export async function printKubeconfig(cli: Cli, name: string, options: PrintOptions): Promise<void> {
  const api = await connectTeam(cli);
  if (options.merge) await checkFile(cli.io.env);
  const issued = await issueKubeconfig(api, name, options);
  let kubeconfig = nameEntries(issued.kubeconfig, options.name);
  if (options.exec) {
    await keepCredential(cli, name, options, issued);
    kubeconfig = withPlugin(kubeconfig, await pluginArgs(cli, name, api.team, options));
  }
  if (!options.merge) {
    cli.result(kubeconfig, () => stringify(kubeconfig));
    return;
  }
  const path = await mergeIntoFile(cli.io.env, kubeconfig, { isCurrent: options.keepContext !== true });
  const context = kubeconfig['current-context'];
  const until = options.exec ? '' : ` until ${issued.expiresAt}`;
  const use = options.keepContext ? `kubectl --context ${context}` : 'kubectl';
  cli.result({ path, context }, `The context ${context} is in ${path}${until}. Try: ${use} get nodes\n`);
}

/** The same without a secret: kubectl asks this command for a credential whenever it needs one. */
function withPlugin(kubeconfig: Kubeconfig, args: readonly string[]): Kubeconfig {
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    ...commandOf(process.argv[1] ?? '', args),
    interactiveMode: 'Never',
    installHint: 'This cluster needs the command corral.',
  };
  return { ...kubeconfig, users: kubeconfig.users.map(({ name }) => ({ name, user: { exec } })) };
}

async function pluginArgs(
  cli: Cli,
  cluster: string,
  team: string,
  { scope, ttl }: KubeconfigOptions,
): Promise<string[]> {
  const context = chosenContext(await cli.given())?.name;
  return [
    ...['kubeconfig', 'credential', cluster, '--team', team],
    ...(context === undefined ? [] : ['--context', context]),
    ...(scope === 'admin' ? [] : ['--scope', scope]),
    ...['--ttl', `${ttl}s`],
  ];
}

/** The installed command by its name, and one that is run from a checkout by its file. */
const commandOf = (script: string, args: readonly string[]) =>
  basename(script) === 'corral'
    ? { command: 'corral', args: [...args] }
    : { command: process.execPath, args: isSea() ? [...args] : [resolve(script), ...args] };
