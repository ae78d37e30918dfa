import type { ClusterSchemas } from '@corral/client';
import { edit } from '@corral/client';
import { connectionPhases, providers } from '@corral/contracts';
import { Command, Option } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { connectTeam } from '../clusters/team-api.js';
import { confirmName, readSecret } from '../output/ask.js';
import { showList } from '../output/show-list.js';
import { renderFacts } from '../output/table.js';
import { requireInput, yesOption } from '../settings/options.js';

type Connection = ClusterSchemas['Connection'];
type Phase = (typeof connectionPhases)[number];
type Provider = (typeof providers)[number];

/** The cloud projects of the team. Their tokens are read from standard input, never from an argument. */
export function connectionsCommand(withCli: WithCli): Command {
  const command = new Command('connections').description('connections to cloud projects');
  command
    .command('list')
    .description('list the connections')
    .addOption(new Option('--phase <phase>', 'only connections in this phase').choices(connectionPhases))
    .action(withCli(listConnections));
  command.command('get <ref>').description('show a connection, without its token').action(withCli(showConnection));
  command
    .command('create [ref]')
    .description('connect a cloud project; its token is read from standard input (administrators)')
    .option('--name <name>', 'its name (default: the ref)')
    .addOption(new Option('--provider <provider>', 'of the project').choices(providers).default(providers[0]))
    .action(withCli(createConnection));
  command
    .command('set <ref>')
    .description('change the name of a connection, or its token (administrators)')
    .option('--name <name>', 'its new name')
    .option('--token <->', '`-` reads the new token from standard input')
    .action(withCli(changeConnection));
  command
    .command('verify <ref>')
    .description('verify the token of a connection with the provider now (administrators)')
    .action(withCli(verifyConnection));
  command
    .command('delete <ref>')
    .description('delete a connection and its token (administrators)')
    .addOption(yesOption())
    .action(withCli(deleteConnection));
  return command;
}

async function listConnections(cli: Cli, { phase }: { readonly phase?: Phase }): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  showList(cli, await client.listAll('listConnections', { team }, { query: { phase }, signal }), 'connections', {
    REF: ({ metadata }) => metadata.ref,
    NAME: ({ spec }) => spec.name,
    PROVIDER: ({ spec }) => spec.provider,
    PHASE: ({ status }) => status.phase,
    VERIFIED: ({ status }) => status.verifiedAt,
  });
}

async function showConnection(cli: Cli, ref: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  show(cli, (await client.getConnection({ team, ref }, { signal })).body);
}

const show = (cli: Cli, connection: Connection) =>
  cli.result(connection, () =>
    renderFacts([
      ['Ref', connection.metadata.ref],
      ['Name', connection.spec.name],
      ['Provider', connection.spec.provider],
      ['Phase', connection.status.phase],
      ['Message', connection.status.message],
      ['Verified', connection.status.verifiedAt],
      ['Created', connection.metadata.createdAt],
    ]),
  );

interface CreateOptions {
  readonly name?: string;
  readonly provider: Provider;
}

async function createConnection(cli: Cli, ref: string | undefined, { name, provider }: CreateOptions): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const token = await readSecret(cli.io, 'Token of the cloud project');
  const body = { spec: { provider, token, ...(name === undefined ? {} : { name }) } };
  const answer =
    ref === undefined
      ? await client.createConnection({ team }, { body, signal })
      : await client.putConnection({ team, ref }, { body, ifNoneMatch: '*', signal });
  show(cli, answer.body);
}

interface ChangeOptions {
  readonly name?: string;
  readonly token?: string;
}

async function changeConnection(cli: Cli, ref: string, { name, token: from }: ChangeOptions): Promise<void> {
  requireInput(from);
  const { client, team, signal } = await connectTeam(cli);
  const token = from === undefined ? undefined : await readSecret(cli.io, 'New token of the cloud project');
  const { body } = await edit(
    () => client.getConnection({ team, ref }, { signal }),
    ({ spec }, ifMatch) =>
      client.putConnection(
        { team, ref },
        {
          body: { spec: { ...spec, name: name ?? spec.name, ...(token === undefined ? {} : { token }) } },
          ifMatch,
          signal,
        },
      ),
  );
  show(cli, body);
}

async function verifyConnection(cli: Cli, ref: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { operation } = await client.verifyConnection({ team, ref }, { signal });
  if (operation !== null) await client.waitForOperation(operation, { signal });
  show(cli, (await client.getConnection({ team, ref }, { signal })).body);
}

async function deleteConnection(cli: Cli, ref: string, { yes = false }: { readonly yes?: boolean }): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  await confirmName(cli.io, `Corral forgets the token of ${ref}.`, ref, yes);
  await client.deleteConnection({ team, ref }, { signal });
  cli.result({ ref, deleted: true }, `Connection ${ref} is deleted.\n`);
}
