import { Command } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { connectClusters } from '../clusters/team-api.js';
import { showList } from '../output/show-list.js';

/** The command shows where the person is signed in. */
export function sessionsCommand(withCli: WithCli): Command {
  const command = new Command('sessions').description('where you are signed in');
  command.command('list').description('list your sessions, newest first').action(withCli(listSessions));
  command.command('end <id>').description('end a session, effective from its next request').action(withCli(endSession));
  command.command('end-all').description('end all your sessions, this one too').action(withCli(endAllSessions));
  return command;
}

async function listSessions(cli: Cli): Promise<void> {
  const { client } = await connectClusters(cli);
  showList(cli, await client.listAll('listSessions', {}, { signal: cli.io.signal }), 'sessions', {
    ID: ({ id }) => id,
    WHAT: ({ name, userAgent }) => name ?? userAgent,
    'LAST SEEN': ({ lastSeenAt }) => lastSeenAt,
    ENDS: ({ expiresAt }) => expiresAt,
    THIS: ({ current }) => (current ? 'yes' : null),
  });
}

async function endSession(cli: Cli, id: string): Promise<void> {
  const { client } = await connectClusters(cli);
  await client.revokeSession({ id }, { signal: cli.io.signal });
  cli.result({ id, ended: true }, `Session ${id} has ended.\n`);
}

async function endAllSessions(cli: Cli): Promise<void> {
  const { client } = await connectClusters(cli);
  await client.signOutEverywhere({}, { signal: cli.io.signal });
  cli.result({ ended: true }, 'All your sessions have ended.\n');
}
