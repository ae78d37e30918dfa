import { clusterLimits, kubeconfigScopes } from '@corral/contracts';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { connectTeam } from '../clusters/team-api.js';
import { showList } from '../output/show-list.js';
import { durationOption } from '../settings/options.js';
import { printCredential } from './exec-credential.js';
import { printKubeconfig } from './print-kubeconfig.js';

const TTL = '1h';

const scopeOption = () =>
  new Option('--scope <scope>', '`viewer` reads everything except Secrets; viewers of a team get only that')
    .choices(kubeconfigScopes)
    .default('admin');
const ttlOption = () =>
  new Option('--ttl <duration>', 'lifetime of the credential, from 10m to 8h')
    .default(ttlSeconds(TTL), TTL)
    .argParser(ttlSeconds);

export function kubeconfigCommand(withCli: WithCli): Command {
  const command = new Command('kubeconfig').description('get access to a cluster with kubectl');
  command
    .command('get <cluster>')
    .description('print a kubeconfig, or merge it into the one of kubectl')
    .option('--exec', 'use this command as a plugin, which renews the credential; the kubeconfig contains no secret')
    .option('--merge', 'merge it into the first file of $KUBECONFIG, else ~/.kube/config, and make it current')
    .option('--keep-context', 'with --merge: do not change the current context')
    .addOption(
      new Option('--name <name>', 'name of the context (default: team and cluster, as in acme/web)').argParser(
        entryName,
      ),
    )
    .addOption(scopeOption())
    .addOption(ttlOption())
    .action(withCli(printKubeconfig));
  command
    .command('list <cluster>')
    .description('list to whom kubeconfigs were issued, newest first')
    .action(withCli(listKubeconfigs));
  command
    .command('credential <cluster>')
    .description('print a credential, as a plugin of kubectl (client.authentication.k8s.io/v1)')
    .addOption(scopeOption())
    .addOption(ttlOption())
    .action(withCli(printCredential));
  return command;
}

async function listKubeconfigs(cli: Cli, name: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { items } = (await client.listKubeconfigIssues({ team, name }, { signal })).body;
  showList(cli, items, 'issued kubeconfigs', {
    ISSUED: ({ createdAt }) => createdAt,
    TO: ({ issuedTo, serviceAccount }) => serviceAccount ?? issuedTo?.email,
    SCOPE: ({ scope }) => scope,
    ENDS: ({ expiresAt }) => expiresAt,
    OUTCOME: ({ outcome }) => outcome,
  });
}

function entryName(text: string): string {
  if (/^[\x21-\x7e]{1,200}$/.test(text)) return text;
  throw new InvalidArgumentError('Use up to 200 printable characters without blanks.');
}

/** @returns seconds */
function ttlSeconds(text: string): number {
  const seconds = durationOption(text) / 1_000;
  const { kubeconfigSecondsMin: min, kubeconfigSecondsMax: max } = clusterLimits;
  if (seconds < min || seconds > max) throw new InvalidArgumentError('Use 10m to 8h.');
  return seconds;
}
