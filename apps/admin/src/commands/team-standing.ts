import { endMembership, type TeamRecord } from '@corral/auth';
import { isShownName, textRules } from '@corral/contracts';
import { readClock } from '@corral/database';
import type { Command } from 'commander';
import { type WithContext, writtenByWork } from '../admin-context.js';
import { OperatorError } from '../operator-error.js';

/** Adds the commands that suspend a team, and change its name and its members. */
export function addStandingCommands(command: Command, withContext: WithContext): void {
  command
    .command('suspend <slug>')
    .description(
      'let a team only read: changes of record sets and clusters are refused, whatever their token; nothing is deleted',
    )
    .action(
      withContext(async (context, slug: string) => {
        const team = await context.getTeam(slug);
        if (team.suspendedAt !== null)
          throw new OperatorError(`Team ${slug} is suspended since ${team.suspendedAt.toISOString()}.`);
        await context.confirm(`Team ${slug} can change nothing until \`team resume ${slug}\`.`);
        const suspendedAt = await context.change(actOn(team, 'suspend'), async (tx) => {
          const now = await readClock(tx);
          await tx.team.update({ where: { id: team.id }, data: { suspendedAt: now } });
          return now;
        });
        context.print(
          { team: slug, suspendedAt },
          `Team ${slug} is suspended. It can read. End this with \`team resume ${slug}\`.\n`,
        );
      }),
    );
  command
    .command('resume <slug>')
    .description('end the suspension of a team')
    .action(
      withContext(async ({ change, getTeam, print }, slug: string) => {
        const team = await getTeam(slug);
        if (team.suspendedAt === null) throw new OperatorError(`Team ${slug} is not suspended.`);
        await change(actOn(team, 'resume'), (tx) =>
          tx.team.update({ where: { id: team.id }, data: { suspendedAt: null } }),
        );
        print({ team: slug, suspendedAt: null }, `Team ${slug} is no longer suspended.\n`);
      }),
    );
  command
    .command('rename <slug> <name>')
    .description('change the display name of a team; its slug stays, because the names in the zone belong to it')
    .action(
      withContext(async ({ change, getTeam, print }, slug: string, name: string) => {
        const team = await getTeam(slug);
        if (name !== '' && !isShownName(name)) throw new OperatorError(`The name ${textRules.shownName.must}.`);
        await change(actOn(team, 'rename', { name }), (tx) =>
          tx.team.update({ where: { id: team.id }, data: { name } }),
        );
        print({ team: slug, name }, `Team ${slug} is shown as "${name || slug}".\n`);
      }),
    );
  command
    .command('remove-member <slug> <email>')
    .description('end the membership of a user, and revoke the DNS tokens that the user created for the team')
    .action(
      withContext(async ({ change, operator, getTeam, getUser, confirm, print }, slug: string, email: string) => {
        const [team, user] = [await getTeam(slug), await getUser(email)];
        await confirm(`The access of ${user.email} to team ${slug} ends.`);
        const ended = await change(writtenByWork, async (tx) => {
          const end = await endMembership(tx, team, user, operator);
          if (end.wasMember) return end;
          throw new OperatorError(`${user.email} is not a member of team ${slug}. \`team members ${slug}\` shows all.`);
        });
        const tokens = ended.dnsTokensRevoked.length === 0 ? 'none' : ended.dnsTokensRevoked.join(', ');
        const lacks = ended.lacksAdmin ? ' The team has no administrator now.' : '';
        print(
          { email: user.email, ...ended },
          `User ${user.email} is removed from team ${slug}. DNS tokens revoked: ${tokens}.${lacks}\n`,
        );
      }),
    );
}

const actOn =
  (
    team: { readonly id: TeamRecord['id']; readonly slug: string },
    what: 'suspend' | 'resume' | 'rename',
    detail = {},
  ) =>
  () =>
    ({ team, action: `team.${what}`, target: { kind: 'Team', id: team.id, name: team.slug }, detail }) as const;
