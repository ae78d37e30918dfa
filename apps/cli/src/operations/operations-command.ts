import type { ClusterSchemas } from '@corral/client';
import { type OperationKind, type OperationState, operationKinds, operationStates } from '@corral/contracts';
import { Command, Option } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { connectTeam, failureOf, stepOf, untilEnded } from '../clusters/team-api.js';
import { CliError } from '../exit-codes.js';
import { startProgress } from '../output/progress.js';
import { showList } from '../output/show-list.js';
import { renderFacts } from '../output/table.js';
import { timeoutOption, wholeNumber } from '../settings/options.js';

type Operation = ClusterSchemas['Operation'];

const LISTED_MAX = 10_000;

/** What the service does for the team, and how far it is. */
export function operationsCommand(withCli: WithCli): Command {
  const command = new Command('operations').description('what is being done, and what was');
  command
    .command('list')
    .description('list operations, newest first')
    .addOption(new Option('--state <states...>', 'only operations in these states').choices(operationStates))
    .addOption(new Option('--kind <kinds...>', 'only these kinds').choices(operationKinds))
    .option('--target <name>', 'only operations on this cluster, connection or server')
    .addOption(new Option('--limit <operations>', 'how many').argParser(wholeNumber(LISTED_MAX)).default(50))
    .action(withCli(listOperations));
  command.command('get <id>').description('show an operation').action(withCli(showOperation));
  command
    .command('wait <id>')
    .description('wait until an operation has ended; fails if it failed')
    .addOption(timeoutOption())
    .action(withCli(waitForOperation));
  return command;
}

interface ListOptions {
  readonly state?: OperationState[];
  readonly kind?: OperationKind[];
  readonly target?: string;
  readonly limit: number;
}

async function listOperations(cli: Cli, { state, kind, target, limit }: ListOptions): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const operations: Operation[] = [];
  for await (const operation of client.list('listOperations', { team }, { query: { state, kind, target }, signal })) {
    operations.push(operation);
    if (operations.length >= limit) break;
  }
  showList(cli, operations, 'operations', {
    ID: ({ id }) => id,
    KIND: (operation) => operation.kind,
    TARGET: (operation) => operation.target.name,
    STATE: (operation) => stepOf(operation).text,
    PROGRESS: ({ progress }) => `${progress} %`,
    BY: ({ createdBy }) => createdBy?.email,
    BEGAN: ({ createdAt }) => createdAt,
  });
}

async function showOperation(cli: Cli, id: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { body } = await client.getOperation({ team, id }, { signal });
  cli.result(body, () =>
    renderFacts([
      ['Operation', body.id],
      ['Kind', body.kind],
      ['Target', body.target.name],
      ['State', stepOf(body).text],
      ['Progress', `${body.progress} %`],
      ['Error', body.state === 'failed' ? failureOf(body) : null],
      ['By', body.createdBy?.email],
      ['Began', body.createdAt],
      ['Changed', body.updatedAt],
    ]),
  );
}

async function waitForOperation(cli: Cli, id: string, { timeout }: { readonly timeout: number }): Promise<void> {
  const api = await connectTeam(cli);
  const progress = startProgress(cli.io, [id]);
  const operation = await untilEnded(api, id, {
    timeoutMs: timeout,
    onProgress: (seen) => progress.show(id, stepOf(seen)),
  }).finally(progress.end);
  cli.result(operation, `Operation ${id} ${operation.state}.\n`);
  const failure = failureOf(operation);
  if (failure !== null) throw new CliError(operation.state === 'superseded' ? 'conflict' : 'refused', failure);
}
