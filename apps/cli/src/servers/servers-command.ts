import type { ClusterSchemas } from '@corral/client';
import { serverArchitectures, serverKinds, wipeAcknowledgement } from '@corral/contracts';
import { Command, Option } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { recordSetLines } from '../clusters/plan-text.js';
import { connectTeam } from '../clusters/team-api.js';
import { usageError } from '../exit-codes.js';
import { confirmName } from '../output/ask.js';
import { showList } from '../output/show-list.js';
import { renderFacts } from '../output/table.js';
import { yesOption } from '../settings/options.js';

type Server = ClusterSchemas['AdoptedServer'];
type Spec = Server['spec'];

/** Machines of the team's own that become nodes: docs/adopted-servers.md. */
export function serversCommand(withCli: WithCli): Command {
  const command = new Command('servers').description('servers that a connection adopts as nodes');
  command.command('list <connection>').description('list the adopted servers').action(withCli(listServers));
  command.command('get <connection> <number>').description('show an adopted server').action(withCli(showServer));
  command
    .command('find <connection> [number]')
    .description('list servers in the project, or look one up, and whether they can be adopted (administrators)')
    .action(withCli(findServer));
  command
    .command('adopt <connection> <number>')
    .description('adopt a server: all data on it is destroyed (administrators)')
    .addOption(new Option('--kind <kind>', 'where the machine is').choices(serverKinds).default('cloud'))
    .option('--type <type>', 'its type (default: as the project says)')
    .option('--location <location>', 'where it stands (default: as the project says)')
    .addOption(
      new Option('--architecture <architecture>', 'of its processor (default: as the project says)').choices(
        serverArchitectures,
      ),
    )
    .addOption(yesOption())
    .action(withCli(adoptServer));
  command
    .command('release <connection> <number>')
    .description('detach a server; it is neither deleted nor powered off (administrators)')
    .addOption(yesOption())
    .action(withCli(releaseServer));
  command
    .command('join-command <connection> <number>')
    .description(
      'print the script that joins a dedicated or onprem machine; secret, valid for 15 minutes (administrators)',
    )
    .action(withCli(printJoinCommand));
  return command;
}

/** @throws CliError */
function numberOf(text: string): number {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= Number.MAX_SAFE_INTEGER) return number;
  throw usageError('The number of a server is a whole number, such as 4711: the one that the cloud project shows.');
}

async function listServers(cli: Cli, ref: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  showList(cli, await client.listAll('listAdoptedServers', { team, ref }, { signal }), 'adopted servers', {
    NUMBER: ({ metadata }) => metadata.serverID,
    NAME: ({ metadata }) => metadata.name,
    KIND: ({ spec }) => spec.serverKind,
    TYPE: ({ spec }) => spec.serverType,
    PHASE: ({ status }) => status.phase,
    'NODE OF': ({ status: { claimedBy } }) => claimedBy && `${claimedBy.cluster}/${claimedBy.nodePool}`,
  });
}

async function showServer(cli: Cli, ref: string, number: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  show(cli, (await client.getAdoptedServer({ team, ref, server_id: numberOf(number) }, { signal })).body);
}

const show = (cli: Cli, server: Server) =>
  cli.result(server, () =>
    renderFacts([
      ['Number', server.metadata.serverID],
      ['Name', server.metadata.name],
      ['Kind', server.spec.serverKind],
      ['Type', server.spec.serverType],
      ['Location', server.spec.location],
      ['Phase', server.status.phase],
      ['Message', server.status.message],
      ['Node of', server.status.claimedBy && `${server.status.claimedBy.cluster}/${server.status.claimedBy.nodePool}`],
      ['Operation', server.status.operationId],
    ]),
  );

async function findServer(cli: Cli, ref: string, number?: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  if (number === undefined) {
    const { body: found } = await client.listProjectServers({ team, ref }, { signal });
    return showList(cli, found.items, 'servers that are no nodes', {
      NUMBER: ({ serverID }) => serverID,
      NAME: ({ name }) => name,
      TYPE: ({ serverType }) => serverType,
      LOCATION: ({ location }) => location,
      STATE: ({ state }) => state,
      ADOPTABLE: ({ adoptable, reason }) => (adoptable ? 'yes' : `no: ${reason}`),
    });
  }
  const { body } = await client.getProjectServer({ team, ref, server_id: numberOf(number) }, { signal });
  cli.result(body, () =>
    renderFacts([
      ['Number', body.serverID],
      ['Name', body.name],
      ['Type', body.serverType],
      ['Location', body.location],
      ['Architecture', body.architecture],
      ['State', body.state],
      ['Adoptable', body.adoptable ? 'yes' : `no: ${body.reason}`],
    ]),
  );
}

interface AdoptOptions {
  readonly kind: Spec['serverKind'];
  readonly type?: string;
  readonly location?: string;
  readonly architecture?: Spec['architecture'];
  readonly yes?: boolean;
}

async function adoptServer(cli: Cli, ref: string, text: string, options: AdoptOptions): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const serverID = numberOf(text);
  const { kind, type, location, architecture, yes = false } = options;
  // The name that is typed is the one the project has now: a number is easily mistaken.
  const found =
    kind === 'cloud' ? (await client.getProjectServer({ team, ref, server_id: serverID }, { signal })).body : null;
  const spec = {
    serverID,
    serverKind: kind,
    serverType: type ?? found?.serverType,
    location: location ?? found?.location,
    architecture: architecture ?? found?.architecture,
  };
  const { serverType, location: place, architecture: processor } = spec;
  if (serverType === undefined || place === undefined || processor === undefined) {
    throw usageError(`A machine of the kind ${kind} needs --type, --location and --architecture.`);
  }
  await confirmName(cli.io, 'All data on the server are destroyed.', found?.name ?? String(serverID), yes);
  const { body } = await client.adoptServer(
    { team, ref },
    {
      body: {
        spec: { ...spec, serverType, location: place, architecture: processor },
        acknowledge: wipeAcknowledgement,
      },
      signal,
    },
  );
  show(cli, body as Server);
}

async function releaseServer(cli: Cli, ref: string, text: string, { yes = false }: { readonly yes?: boolean }) {
  const { client, team, signal } = await connectTeam(cli);
  const path = { team, ref, server_id: numberOf(text) };
  const { body } = await client.getAdoptedServer(path, { signal });
  if (!yes) {
    const planned = await client.deregisterServer(path, { query: { dryRun: true }, signal });
    const lines = recordSetLines((planned.body as ClusterSchemas['AdoptedServerDryRun']).recordSets);
    if (lines.length > 0) cli.note(lines.join('\n'));
  }
  await confirmName(cli.io, 'The node leaves its cluster.', body.metadata.name, yes);
  const { operation } = await client.deregisterServer(path, { signal });
  cli.result(
    { serverID: path.server_id, operation: operation?.id ?? null },
    `Server ${body.metadata.name} is released${operation === null ? '' : `, operation ${operation.id}`}.\n`,
  );
}

/** The script alone on standard output, so that it can be piped to `ssh`. */
async function printJoinCommand(cli: Cli, ref: string, number: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { body } = await client.issueJoinCommand({ team, ref, server_id: numberOf(number) }, { signal });
  if (cli.options.output === 'table') {
    cli.note(
      `Run it as root on the machine, before ${body.expiresAt}. It becomes node ${body.nodeName} of ${body.cluster}.`,
    );
  }
  cli.result(body, `${body.joinCommand}\n`);
}
