import type { MemberRecord, TeamRecord } from '@corral/auth';
import { type Role, roles } from '@corral/contracts';
import { auditLog } from '@corral/dns-mirror';
import { Command, Option } from 'commander';
import { renderTable } from '../output/table.js';
import type { WithContext } from '../run-admin.js';

export function teamCommand(withContext: WithContext): Command {
  const command = new Command('team').description('create and list teams and their members');
  command
    .command('create <slug>')
    .description('create a team; it owns the name <slug> in the zone and all names below')
    .action(
      withContext(async ({ teams, prisma, print }, slug: string) => {
        const team = await teams.createTeam(slug);
        const { rrsets, records } = await auditLog(prisma).readUsage(team);
        const owned =
          rrsets === 0 ? '' : ` It owns what the zone has at its name: record sets ${rrsets}, records ${records}.`;
        const next = `\`token issue ${slug} --name <text>\` gives it a token.`;
        print({ ...team, rrsets, records }, `Team ${slug} is created.${owned} ${next}\n`);
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
  command
    .command('add-member <slug> <email>')
    .description('make a user a member of a team, or change the role of one')
    .addOption(new Option('--role <role>', 'what the user may do in the team').choices(roles).default('member'))
    .action(
      withContext(async ({ users, getTeam, getUser, print }, slug: string, email: string, { role }: { role: Role }) => {
        const [team, user] = [await getTeam(slug), await getUser(email)];
        await users.saveMember(team, user, role);
        print({ team: slug, email: user.email, role }, `User ${user.email} is ${role} of team ${slug}.\n`);
      }),
    );
  command
    .command('members <slug>')
    .description('list the members of a team')
    .action(
      withContext(async ({ users, getTeam, print }, slug: string) => {
        const members = await users.listMembers(await getTeam(slug));
        const none = `Team ${slug} has no members yet. \`team add-member ${slug} <email>\` adds one.\n`;
        print(members, members.length === 0 ? none : memberTable(members));
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

function memberTable(members: readonly MemberRecord[]): string {
  return renderTable(members, {
    MEMBER: ({ email }) => email,
    NAME: ({ displayName }) => displayName,
    ROLE: ({ role }) => role,
    SINCE: ({ createdAt }) => createdAt.toISOString(),
  });
}
