import { type MemberRecord, revokeOrHandOverDnsTokens, type TeamRecord, teamStore, userStore } from '@corral/auth';
import { type Role, roles } from '@corral/contracts';
import { lockChangesOfTeams } from '@corral/database';
import { courseStore, endDemosOfTeam, readUsage } from '@corral/dns-data';
import { Command, Option } from 'commander';
import type { WithContext } from '../admin-context.js';
import type { Act } from '../operators/acts.js';
import { renderTable } from '../table.js';
import { demoTable } from './course.js';
import { addQuotaCommands } from './quotas.js';
import { addDeleteCommand } from './team-delete.js';
import { addHandOverCommand } from './team-hand-over.js';
import { addStandingCommands } from './team-standing.js';

export function teamCommand(withContext: WithContext): Command {
  const command = new Command('team').description('create and list teams and their members');
  command
    .command('create <slug>')
    .description('create a team; it owns the name <slug> in the zone and all names below it')
    .action(
      withContext(async ({ change, prisma, print }, slug: string) => {
        const team = await change(createdAct, (tx) => teamStore(tx).createTeam(slug));
        const { rrsets, records } = await readUsage(prisma, team);
        const owned =
          rrsets === 0 ? '' : ` It owns existing data of the zone: record sets ${rrsets}, records ${records}.`;
        const next = `To issue a token, run \`token issue ${slug} --name <text>\`.`;
        print({ ...team, rrsets, records }, `Team ${slug} is created.${owned} ${next}\n`);
      }),
    );
  command
    .command('list')
    .description('list all teams')
    .action(
      withContext(async ({ teams, print }) => {
        const list = await teams.listTeams();
        print(
          list,
          list.length === 0 ? 'There are no teams yet. Create one with `team create <slug>`.\n' : teamTable(list),
        );
      }),
    );
  command
    .command('add-member <slug> <email>')
    .description('add a user to a team, or change the role of a member')
    .addOption(new Option('--role <role>', 'role of the user in the team').choices(roles).default('member'))
    .action(
      withContext(
        async (
          { change, confirm, operator, getTeam, getUser, print },
          slug: string,
          email: string,
          { role }: { role: Role },
        ) => {
          const [team, user] = [await getTeam(slug), await getUser(email)];
          const target = { kind: 'Member', id: user.id, name: user.email };
          if (role === 'viewer')
            await confirm(`The DNS tokens that ${user.email} created for team ${slug} are revoked.`);
          const revoked = await change(
            () => ({ team, action: 'member.add', target, detail: { role } }),
            async (tx) => {
              await lockChangesOfTeams(tx, [team.id]);
              const by = { userId: null, requestId: null, operator };
              // A viewer could still write with them.
              const tokens =
                role === 'viewer' ? await revokeOrHandOverDnsTokens(tx, team.id, user.id, 'revoke', by) : [];
              await userStore(tx).saveMember(team, user, role);
              return tokens.map(({ name }) => name);
            },
          );
          const tokens = revoked.length === 0 ? '' : ` DNS tokens revoked: ${revoked.join(', ')}.`;
          print(
            { team: slug, email: user.email, role, dnsTokensRevoked: revoked },
            `User ${user.email} is ${role} of team ${slug}.${tokens}\n`,
          );
        },
      ),
    );
  command
    .command('members <slug>')
    .description('list the members of a team')
    .action(
      withContext(async ({ users, getTeam, print }, slug: string) => {
        const members = await users.listMembers(await getTeam(slug));
        const none = `Team ${slug} has no members yet. Add one with \`team add-member ${slug} <email>\`.\n`;
        print(members, members.length === 0 ? none : memberTable(members));
      }),
    );
  addQuotaCommands(command, withContext);
  addStandingCommands(command, withContext);
  addDeleteCommand(command, withContext);
  addHandOverCommand(command, withContext);
  command
    .command('end-demos <slug>')
    .description('list the live demos of a team; with --yes, end them')
    .option('--yes', 'end them instead of listing what would end')
    .action(
      withContext(async ({ change, getTeam, prisma, print }, slug: string, { yes }: { yes?: true }) => {
        const team = await getTeam(slug);
        if (yes !== true) {
          const demos = await courseStore(prisma).listLiveDemosOfTeam(team.id);
          const next = `Nothing has changed. To end the live demos of ${slug} (${demos.length}), add --yes.\n`;
          print({ team: slug, dryRun: true, demos }, demos.length === 0 ? next : `${demoTable(demos)}\n${next}`);
          return;
        }
        const target = { kind: 'Team', id: team.id, name: slug };
        const ended = await change(
          (demos: number) => ({ team, action: 'team.end_demos', target, detail: { demos } }),
          (tx) => endDemosOfTeam(tx, team.id),
        );
        print({ team: slug, dryRun: false, ended }, `Live demos of team ${slug} ended: ${ended}.\n`);
      }),
    );
  return command;
}

const createdAct = (team: TeamRecord): Act => ({
  team,
  action: 'team.create',
  target: { kind: 'Team', id: team.id, name: team.slug },
});

function teamTable(teams: readonly TeamRecord[]): string {
  return renderTable(teams, {
    TEAM: ({ slug }) => slug,
    CREATED: ({ createdAt }) => createdAt.toISOString(),
    ID: ({ id }) => id,
    SUSPENDED: ({ suspendedAt }) => suspendedAt?.toISOString() ?? null,
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
