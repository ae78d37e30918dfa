import { edit } from '@corral/client';
import { Command } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { connectClusters, connectTeam } from '../clusters/team-api.js';
import { CliError } from '../exit-codes.js';
import { showList } from '../output/show-list.js';

export function teamsCommand(withCli: WithCli): Command {
  const command = new Command('teams').description('the teams that you belong to');
  command.command('list').description('list your teams').action(withCli(listTeams));
  command.command('rename <name>').description('rename the team (administrators)').action(withCli(renameTeam));
  return command;
}

async function listTeams(cli: Cli): Promise<void> {
  const { client } = await connectClusters(cli);
  showList(cli, await client.listAll('listTeamDetails', {}, { signal: cli.io.signal }), 'teams', {
    TEAM: ({ slug }) => slug,
    NAME: ({ name }) => name,
    PEOPLE: ({ members }) => members.length,
    ADMINISTRATOR: (team) => (team.is_admin ? 'yes' : 'no'),
  });
}

async function renameTeam(cli: Cli, name: string): Promise<void> {
  const { client, team: slug, signal } = await connectTeam(cli);
  const teams = await client.listAll('listTeamDetails', {}, { signal });
  const id = teams.find((team) => team.slug === slug)?.id;
  if (id === undefined) throw new CliError('notFound', `You do not belong to a team ${slug}.`);
  const { body } = await edit(
    () => client.getTeam({ team_id: id }, { signal }),
    (_current, ifMatch) => client.putTeam({ team_id: id }, { body: { name }, ifMatch, signal }),
  );
  cli.result(body, `The team ${slug} is called ${body.name}.\n`);
}
