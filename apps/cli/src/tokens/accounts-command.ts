import { accountActions, roles, type WritableType, writableTypes } from '@corral/contracts';
import { Command, Option } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { connectTeam } from '../clusters/team-api.js';
import { confirmName } from '../output/ask.js';
import { showList } from '../output/show-list.js';
import { yesOption } from '../settings/options.js';

type Role = (typeof roles)[number];
type Action = (typeof accountActions)[number];

export function accountsCommand(withCli: WithCli): Command {
  const command = new Command('accounts').description('service accounts: access for programs (administrators)');
  command.command('list').description('list the service accounts').action(withCli(listAccounts));
  command
    .command('set <name>')
    .description('create a service account, or change what it may do')
    .addOption(new Option('--role <role>', 'its role, as for people').choices(roles).makeOptionMandatory())
    .option(
      '--clusters <names...>',
      'only these clusters; a * at the start or the end, such as ci-* (default: as it is, all for a new one)',
    )
    .addOption(
      new Option(
        '--actions <actions...>',
        'only these kinds of actions (default: as it is, all for a new one)',
      ).choices(accountActions),
    )
    .option(
      '--dns-within <name>',
      'its DNS tokens cover only this name and names below it (default: as it is, all names of the team for a new one)',
    )
    .addOption(
      new Option(
        '--dns-types <types...>',
        'its DNS tokens write only these record types (default: as it is, all for a new one)',
      ).choices(writableTypes),
    )
    .action(withCli(setAccount));
  command
    .command('delete <name>')
    .description('delete a service account; its tokens end at once')
    .addOption(yesOption())
    .action(withCli(deleteAccount));
  return command;
}

async function listAccounts(cli: Cli): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { items } = (await client.listServiceAccounts({ team }, { signal })).body;
  showList(cli, items, 'service accounts', {
    NAME: ({ metadata }) => metadata.name,
    ROLE: ({ spec }) => spec.role,
    CLUSTERS: ({ spec }) => spec.narrowing.clusters.join(','),
    ACTIONS: ({ spec }) => spec.narrowing.actions.join(','),
    DNS: ({ spec: { narrowing } }) =>
      [narrowing.dns.withinName ?? '', narrowing.dns.withinTypes.join(',')].filter(Boolean).join(' '),
    CREATED: ({ metadata }) => metadata.createdAt,
  });
}

interface SetOptions {
  readonly role: Role;
  readonly clusters?: string[];
  readonly actions?: Action[];
  readonly dnsWithin?: string;
  readonly dnsTypes?: WritableType[];
}

async function setAccount(cli: Cli, account: string, { role, clusters, actions, ...given }: SetOptions): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const dns = {
    ...(given.dnsWithin ? { withinName: given.dnsWithin } : {}),
    ...(given.dnsTypes ? { withinTypes: given.dnsTypes } : {}),
  };
  const narrowing = {
    ...(clusters ? { clusters } : {}),
    ...(actions ? { actions } : {}),
    ...(Object.keys(dns).length > 0 ? { dns } : {}),
  };
  const { status, body } = await client.putServiceAccount(
    { team, account },
    { body: { spec: { role, narrowing } }, signal },
  );
  cli.result(body, `Service account ${account} is ${status === 201 ? 'created' : 'as given'}: ${role}.\n`);
}

async function deleteAccount(cli: Cli, account: string, { yes = false }: { readonly yes?: boolean }): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  await confirmName(cli.io, `All tokens of ${account} end at once.`, account, yes);
  await client.deleteServiceAccount({ team, account }, { signal });
  cli.result({ account, deleted: true }, `Service account ${account} is deleted.\n`);
}
