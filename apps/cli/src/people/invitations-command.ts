import { roles } from '@corral/contracts';
import { Command, Option } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { connectClusters, connectTeam } from '../clusters/team-api.js';
import { showList } from '../output/show-list.js';

type Role = (typeof roles)[number];

/** Invitations by the team, and those that the person received. */
export function invitationsCommand(withCli: WithCli): Command {
  const command = new Command('invitations').description('invitations to the team, and to you');
  command.command('list').description('list open invitations to the team (administrators)').action(withCli(list));
  command
    .command('create <address>')
    .description('invite a person by mail, for 14 days (administrators)')
    .addOption(new Option('--role <role>', 'what they will be').choices(roles).default('member'))
    .action(withCli(create));
  command
    .command('renew <id>')
    .description('renew an invitation for another 14 days, and send its mail again (administrators)')
    .action(withCli(renew));
  command.command('revoke <id>').description('revoke an invitation (administrators)').action(withCli(revoke));
  command.command('received').description('list the invitations to your address').action(withCli(listReceived));
  command.command('accept <id>').description('accept an invitation and join its team').action(withCli(accept));
  command.command('decline <id>').description('decline an invitation, which ends it').action(withCli(decline));
  return command;
}

async function list(cli: Cli): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  showList(cli, await client.listAll('listInvitations', { team_slug: team }, { signal }), 'open invitations', {
    ID: ({ id }) => id,
    ADDRESS: ({ email }) => email,
    ROLE: ({ role }) => role,
    'INVITED BY': (invitation) => invitation.invited_by,
  });
}

async function create(cli: Cli, email: string, { role }: { readonly role: Role }): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { body } = await client.createInvitation({ team_slug: team }, { body: { email, role }, signal });
  cli.result(body, `${body.email} is invited as ${body.role}, invitation ${body.id}.\n`);
}

async function renew(cli: Cli, id: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { body } = await client.renewInvitation({ team_slug: team, id }, { signal });
  cli.result(body, `The invitation of ${body.email} is renewed.\n`);
}

async function revoke(cli: Cli, id: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  await client.revokeInvitation({ team_slug: team, id }, { signal });
  cli.result({ id, revoked: true }, `Invitation ${id} is revoked.\n`);
}

async function listReceived(cli: Cli): Promise<void> {
  const { client } = await connectClusters(cli);
  const invitations = await client.listAll('listReceivedInvitations', {}, { signal: cli.io.signal });
  showList(cli, invitations, 'invitations for you', {
    ID: ({ id }) => id,
    TEAM: (invitation) => invitation.team_slug,
    ROLE: ({ role }) => role,
    'INVITED BY': (invitation) => invitation.invited_by,
    ENDS: (invitation) => invitation.expires_at,
  });
}

async function accept(cli: Cli, id: string): Promise<void> {
  const { client } = await connectClusters(cli);
  const { body } = await client.acceptInvitation({ id }, { signal: cli.io.signal });
  cli.result(body, `You belong to the team ${body.team_slug} now.\n`);
}

async function decline(cli: Cli, id: string): Promise<void> {
  const { client } = await connectClusters(cli);
  await client.declineInvitation({ id }, { signal: cli.io.signal });
  cli.result({ id, declined: true }, `Invitation ${id} is declined.\n`);
}
