import { Command } from 'commander';
import type { WithContext } from '../run-admin.js';

export function userCommand(withContext: WithContext): Command {
  const command = new Command('user').description('create users');
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
  return command;
}
