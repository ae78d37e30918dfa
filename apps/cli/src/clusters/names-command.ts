import type { ClusterSchemas } from '@corral/client';
import { Command } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { confirmName } from '../output/ask.js';
import { showList } from '../output/show-list.js';
import { renderFacts, renderTable } from '../output/table.js';
import { dryRunOption, yesOption } from '../settings/options.js';
import { connectTeam } from './team-api.js';

type HostedName = ClusterSchemas['HostedName'];

/** Names on a cluster: records and certificates for what it serves. */
export function namesCommand(withCli: WithCli): Command {
  const command = new Command('names').description('names of the team with records and certificates from a cluster');
  command.command('list <cluster>').description('list the names on a cluster').action(withCli(listNames));
  command
    .command('get <cluster> <name>')
    .description('show a name on a cluster, what it waits for, and what Corral keeps in the cluster')
    .action(withCli(showName));
  command
    .command('add <cluster> <name>')
    .description('put a name on a cluster, which then writes its records and gets its certificates')
    .addOption(dryRunOption())
    .action(withCli(addName));
  command
    .command('remove <cluster> <name>')
    .description('take a name off a cluster: its DNS token ends, and its objects are removed')
    .addOption(yesOption())
    .action(withCli(removeName));
  return command;
}

async function listNames(cli: Cli, cluster: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { body } = await client.listHostedNames({ team, cluster }, { signal });
  showList(cli, body.items, 'names', {
    NAME: ({ name }) => name,
    HOST: ({ host }) => host,
    STATE: ({ state }) => state,
    MESSAGE: ({ message }) => message,
  });
}

async function showName(cli: Cli, cluster: string, name: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { body } = await client.getHostedName({ team, cluster, host: name }, { signal });
  cli.result(body, () => textOf(body));
}

async function addName(cli: Cli, cluster: string, typed: string, { dryRun = false }: { readonly dryRun?: boolean }) {
  const { client, team, signal } = await connectTeam(cli);
  const name = typed.toLowerCase();
  if (dryRun) {
    const { body } = await client.addHostedName({ team, cluster }, { body: { name }, query: { dryRun: true }, signal });
    const { resource } = body as ClusterSchemas['HostedNameDryRun'];
    cli.result(body, () => `Nothing is changed. These objects would be in the cluster:\n\n${objectsText(resource)}`);
    return;
  }
  const added = await client.addHostedName({ team, cluster }, { body: { name }, signal });
  const body = added.body as HostedName;
  cli.result(
    body,
    `${body.host} is being put on ${cluster}. \`corral clusters names get ${cluster} ${name}\` shows how far it is.\n`,
  );
}

async function removeName(cli: Cli, cluster: string, name: string, { yes = false }: { readonly yes?: boolean }) {
  const { client, team, signal } = await connectTeam(cli);
  await confirmName(
    cli.io,
    `${name} gets no more records and certificates from ${cluster}. Its records stay.`,
    name,
    yes,
  );
  const { body } = await client.removeHostedName({ team, cluster, host: name }, { signal });
  cli.result(body, `${body.host} is being taken off ${cluster}. Its DNS token has ended.\n`);
}

const textOf = (body: HostedName): string =>
  `${renderFacts([
    ['Name', body.name],
    ['Host', body.host],
    ['Cluster', body.cluster],
    ['State', body.state],
    ['Message', body.message],
    ['Issuer', body.issuer],
    ['Checked', body.checkedAt],
  ])}\n${objectsText(body)}`;

const objectsText = ({ objects }: HostedName): string =>
  renderTable(objects, {
    KIND: ({ kind }) => kind,
    NAMESPACE: ({ namespace }) => namespace,
    NAME: ({ name }) => name,
    IMAGES: ({ images }) => images.join('\n'),
  });
