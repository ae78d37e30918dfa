import { endUser, type IdentityRecord, identityStore, type LeftTeam, type UserEnd } from '@corral/auth';
import { Command } from 'commander';
import { OperatorError } from '../operator-error.js';
import { renderTable } from '../output/table.js';
import type { WithContext } from '../run-admin.js';

export function userCommand(withContext: WithContext): Command {
  const command = new Command('user').description('create and end users, and what identity providers know them by');
  command
    .command('create <email>')
    .description('create the user who signs in with this e-mail address')
    .option('--name <text>', 'how the user is called', '')
    .action(
      withContext(async ({ users, print }, email: string, { name }: { name: string }) => {
        const user = await users.createUser({ email, displayName: name });
        print(user, `User ${user.email} is created. \`team add-member <team> ${user.email}\` gives the user a team.\n`);
      }),
    );
  command
    .command('identities <email>')
    .description('list what identity providers know a user by')
    .action(
      withContext(async ({ prisma, getUser, print }, email: string) => {
        const user = await getUser(email);
        const identities = await identityStore(prisma).listIdentities(user);
        const none = `No identity provider knows user ${user.email} yet: the first sign-in with the address is linked.\n`;
        print(identities, identities.length === 0 ? none : identityTable(identities));
      }),
    );
  command
    .command('unlink <email>')
    .description('part a user from an identity, and end the sessions; the next one with the address takes its place')
    .requiredOption('--issuer <url>', 'as `user identities` shows it')
    .requiredOption('--subject <text>', 'as `user identities` shows it')
    .action(
      withContext(async ({ prisma, getUser, print }, email: string, identity: { issuer: string; subject: string }) => {
        const user = await getUser(email);
        const { issuer, subject } = identity;
        if (!(await identityStore(prisma).unlink(user, { issuer, subject }))) {
          throw new OperatorError(
            `User "${user.email}" is not known by that identity. \`user identities ${user.email}\` shows those there are.`,
          );
        }
        print(
          { email: user.email, issuer, subject, linked: false },
          `User ${user.email} is parted from ${subject} of ${issuer}, and signed out everywhere.\n`,
        );
      }),
    );
  command
    .command('end <email>')
    .description('end sessions, DNS tokens, memberships and invitations of a user, and unlink every identity')
    .action(
      withContext(async ({ prisma, getUser, print }, email: string) => {
        const user = await getUser(email);
        const end = await endUser(prisma, user);
        print({ email: user.email, ...end }, endText(user.email, end));
      }),
    );
  return command;
}

function identityTable(identities: readonly IdentityRecord[]): string {
  return renderTable(identities, {
    ISSUER: ({ issuer }) => issuer,
    SUBJECT: ({ subject }) => subject,
    SINCE: ({ createdAt }) => createdAt.toISOString(),
  });
}

function endText(email: string, { sessions, identities, teams }: UserEnd): string {
  const lines = teams.map(({ team, wasMember, dnsTokensRevoked, lacksAdmin }: LeftTeam) => {
    const tokens = dnsTokensRevoked.length === 0 ? 'none' : dnsTokensRevoked.join(', ');
    const membership = wasMember ? 'member no more' : 'was no member';
    return `  ${team}: ${membership}; DNS tokens revoked: ${tokens}${lacksAdmin ? '; has no administrator now' : ''}\n`;
  });
  return `User ${email} is out: sessions ended: ${sessions}, identities unlinked: ${identities}.\n${lines.join('')}`;
}
