import type { ClusterSchemas } from '@corral/client';
import { edit } from '@corral/client';
import { roles } from '@corral/contracts';
import { Command } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { connectTeam, type TeamApi } from '../clusters/team-api.js';
import { CliError } from '../exit-codes.js';
import { confirm, confirmName } from '../output/ask.js';
import { showList } from '../output/show-list.js';
import { yesOption } from '../settings/options.js';

type Role = (typeof roles)[number];
type Removal = { readonly handOverTokens?: boolean; readonly yes?: boolean };

/** The command shows and changes who belongs to the team. */
export function peopleCommand(withCli: WithCli): Command {
  const command = new Command('people').description('the people of the team');
  command.command('list').description('list the people, longest membership first').action(withCli(listPeople));
  command
    .command('role <number> <role>')
    .description(`change a role: ${roles.join(', ')}. Says first what ends with it (administrators)`)
    .option('--hand-over-tokens', 'the team keeps the DNS tokens of a person who becomes a viewer')
    .option('--dry-run', 'show what would end, and change nothing')
    .addOption(yesOption())
    .action(withCli(changeRole));
  command
    .command('remove <number>')
    .description('remove a person from the team; `people list` shows the numbers (administrators)')
    .option('--hand-over-tokens', 'the team keeps the DNS tokens that the person created')
    .addOption(yesOption())
    .action(withCli(removePerson));
  return command;
}

async function listPeople(cli: Cli): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  showList(cli, await client.listAll('listMembers', { team_slug: team }, { signal }), 'people', {
    NUMBER: ({ id }) => id,
    NAME: (member) => member.display_name,
    ROLE: ({ role }) => role,
    SINCE: (member) => member.joined_at,
  });
}

const pathOf = ({ team }: TeamApi, number: string) => {
  if (!/^\d{1,15}$/.test(number)) throw new CliError('usage', '`corral people list` shows the numbers of people.');
  return { team_slug: team, id: Number(number) };
};
const handling = (handOver = false) => ({ dns_tokens: handOver ? ('hand_over' as const) : undefined });

interface RoleOptions extends Removal {
  readonly dryRun?: boolean;
}

async function changeRole(cli: Cli, number: string, text: string, options: RoleOptions): Promise<void> {
  const role = roles.find((each) => each === text);
  if (role === undefined) throw new CliError('usage', `There is no role ${text}. Use one of ${roles.join(', ')}.`);
  const { handOverTokens, dryRun = false, yes = false } = options;
  const api = await connectTeam(cli);
  const { client, signal } = api;
  const path = pathOf(api, number);
  const { body: plan } = await client.putMember(path, {
    body: { role },
    query: { dryRun: true, ...handling(handOverTokens) },
    signal,
  });
  const sentence = planText(plan, role);
  if (dryRun) {
    cli.result(plan, `${sentence}\n`);
    return;
  }
  await confirm(cli.io, sentence, yes);
  const { body } = await edit(
    () => client.getMember(path, { signal }),
    (_current, ifMatch) => client.putMember(path, { body: { role }, query: handling(handOverTokens), ifMatch, signal }),
  );
  cli.result(body, `${body.display_name} is now ${role}.\n`);
}

function planText(plan: ClusterSchemas['MemberDryRun'], role: Role): string {
  const { revoked } = plan.dns_tokens;
  const ends = revoked.length === 0 ? '' : ` These DNS tokens end: ${revoked.map(({ name }) => name).join(', ')}.`;
  return `${plan.resource.display_name} becomes ${role}.${ends}`;
}

async function removePerson(cli: Cli, number: string, { handOverTokens, yes = false }: Removal): Promise<void> {
  const api = await connectTeam(cli);
  const { client, signal } = api;
  const path = pathOf(api, number);
  const { body: member } = await client.getMember(path, { signal });
  const tokens = handOverTokens ? 'The team keeps their DNS tokens.' : 'The DNS tokens that they created end.';
  await confirmName(cli.io, `${member.display_name} leaves the team. ${tokens}`, member.display_name, yes);
  await client.deleteMember(path, { query: handling(handOverTokens), signal });
  cli.result({ id: member.id, removed: true }, `${member.display_name} is removed from the team.\n`);
}
