import type { TeamRecord } from '@corral/auth';
import { Command } from 'commander';
import { renderTable } from '../output/table.js';
import type { WithContext } from '../run-admin.js';

export function teamCommand(withContext: WithContext): Command {
  const command = new Command('team').description('create and list teams');
  command
    .command('create <slug>')
    .description('create a team; it owns the name <slug> in the zone and all names below')
    .action(
      withContext(async ({ teams, print }, slug: string) => {
        const team = await teams.createTeam(slug);
        print(team, `Team ${slug} is created. \`token issue ${slug} --name <text>\` gives it a token.\n`);
      }),
    );
  command
    .command('list')
    .description('list all teams')
    .action(
      withContext(async ({ teams, print }) => {
        const list = await teams.listTeams();
        print(list, list.length === 0 ? 'There are no teams yet. `team create <slug>` makes one.\n' : teamTable(list));
      }),
    );
  return command;
}

function teamTable(teams: readonly TeamRecord[]): string {
  return renderTable(teams, {
    TEAM: ({ slug }) => slug,
    CREATED: ({ createdAt }) => createdAt.toISOString(),
    ID: ({ id }) => id,
  });
}
