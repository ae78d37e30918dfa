import {
  type EndedMembership,
  endUser,
  type IdentityRecord,
  identityStore,
  type UserEnd,
  type UserRecord,
  unlinkIdentity,
  userStore,
} from '@corral/auth';
import { Command } from 'commander';
import type { WithContext } from '../admin-context.js';
import { OperatorError } from '../operator-error.js';
import type { ActOfInstallation } from '../operators/acts.js';
import { wholeNumber } from '../option-parsers.js';
import { renderTable } from '../table.js';

export function userCommand(withContext: WithContext): Command {
  const command = new Command('user').description('create and remove users, and manage their linked identities');
  command
    .command('create <email>')
    .description('create a user who signs in with this e-mail address')
    .option('--name <text>', 'name of the user', '')
    .action(
      withContext(async ({ change, print }, email: string, { name }: { name: string }) => {
        const user = await change(actOn('create'), (tx) => userStore(tx).createUser({ email, displayName: name }));
        print(
          user,
          `User ${user.email} is created. To add the user to a team, run \`team add-member <team> ${user.email}\`.\n`,
        );
      }),
    );
  command
    .command('list')
    .description('list users and the roles in their teams, by address')
    .option('--limit <n>', 'users to show, 1 to 10000', wholeNumber(10_000), 1_000)
    .action(
      withContext(async ({ users, print }, { limit }: { limit: number }) => {
        const people = await users.listPeople(limit);
        const table = renderTable(people, {
          USER: ({ email }) => email,
          NAME: ({ displayName }) => displayName,
          TEAMS: ({ teams }) => teams.map(({ slug, role }) => `${slug} (${role})`).join(', '),
        });
        print({ users: people }, people.length === 0 ? 'There are no users yet.\n' : table);
      }),
    );
  command
    .command('identities <email>')
    .description('list the linked identities of a user')
    .action(
      withContext(async ({ prisma, getUser, print }, email: string) => {
        const user = await getUser(email);
        const identities = await identityStore(prisma).listIdentities(user.id);
        const none = `User ${user.email} has no linked identity yet. The first sign-in with the address creates the link.\n`;
        print(identities, identities.length === 0 ? none : identityTable(identities));
      }),
    );
  command
    .command('unlink <email>')
    .description(
      'unlink an identity from a user and end the sessions; the next sign-in with the address creates a new link',
    )
    .requiredOption('--issuer <url>', 'as shown by `user identities`')
    .requiredOption('--subject <text>', 'as shown by `user identities`')
    .action(
      withContext(async ({ change, getUser, print }, email: string, identity: { issuer: string; subject: string }) => {
        const user = await getUser(email);
        const { issuer, subject } = identity;
        await change(
          () => ({ ...actOn('unlink')(user), detail: { issuer, subject } }),
          async (tx) => {
            if (await unlinkIdentity(tx, user.id, { issuer, subject })) return;
            throw new OperatorError(
              `User "${user.email}" has no such identity. \`user identities ${user.email}\` shows all identities of the user.`,
            );
          },
        );
        print(
          { email: user.email, issuer, subject, linked: false },
          `Identity ${subject} of ${issuer} is unlinked from user ${user.email}, and all sessions of the user are ended.\n`,
        );
      }),
    );
  command
    .command('end <email>')
    .description(
      'end all sessions, memberships and invitations of a user, revoke the DNS tokens and unlink every identity',
    )
    .action(
      withContext(async ({ change, operator, getUser, confirm, print }, email: string) => {
        const user = await getUser(email);
        await confirm(`All access of ${user.email} ends.`);
        const end = await change(
          () => actOn('end')(user),
          (tx) => endUser(tx, user, operator),
        );
        print({ email: user.email, ...end }, endText(user.email, end));
      }),
    );
  return command;
}

const actOn =
  (what: 'create' | 'unlink' | 'end') =>
  ({ email }: UserRecord): ActOfInstallation => ({
    team: null,
    action: `user.${what}`,
    target: { kind: 'User', name: email },
  });

function identityTable(identities: readonly IdentityRecord[]): string {
  return renderTable(identities, {
    ISSUER: ({ issuer }) => issuer,
    SUBJECT: ({ subject }) => subject,
    SINCE: ({ createdAt }) => createdAt.toISOString(),
  });
}

function endText(email: string, { sessions, identities, teams }: UserEnd): string {
  const lines = teams.map(({ team, wasMember, dnsTokensRevoked, lacksAdmin }: EndedMembership) => {
    const tokens = dnsTokensRevoked.length === 0 ? 'none' : dnsTokensRevoked.join(', ');
    const membership = wasMember ? 'membership removed' : 'was not a member';
    return `  ${team}: ${membership}; DNS tokens revoked: ${tokens}${lacksAdmin ? '; the team has no administrator now' : ''}\n`;
  });
  return `User ${email} has no access any more. Sessions ended: ${sessions}, identities unlinked: ${identities}.\n${lines.join('')}`;
}
