import { type ClusterSchemas, edit, isCorralError } from '@corral/client';
import { clusterLimits, poolSources } from '@corral/contracts';
import { Command, Option } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { costLines, effectText, rangeText, recordSetLines } from '../clusters/plan-text.js';
import { connectTeam, type TeamApi } from '../clusters/team-api.js';
import { usageError } from '../exit-codes.js';
import { confirm, confirmName } from '../output/ask.js';
import { showList } from '../output/show-list.js';
import { renderFacts } from '../output/table.js';
import { dryRunOption, wholeNumber, yesOption } from '../settings/options.js';

type Pool = ClusterSchemas['NodePool'];
type PoolPlan = ClusterSchemas['NodePoolDryRun'];

/** The node pools of a cluster, one by one. `clusters apply` changes all of a cluster. */
export function poolsCommand(withCli: WithCli): Command {
  const command = new Command('pools').description('node pools of a cluster');
  command.command('list <cluster>').description('list the node pools of a cluster').action(withCli(listPools));
  command.command('get <cluster> <pool>').description('show a node pool').action(withCli(showPool));
  command
    .command('set <cluster> <pool>')
    .description('add a node pool, or change what is given; the rest stays')
    .addOption(new Option('--machine-type <type>', 'type of its machines: `corral catalogue` lists them'))
    .addOption(new Option('--source <source>', 'where nodes come from').choices(poolSources))
    .addOption(new Option('--min <nodes>', 'fewest nodes').argParser(wholeNumber(clusterLimits.nodesPerCluster, 0)))
    .addOption(new Option('--max <nodes>', 'most nodes').argParser(wholeNumber(clusterLimits.nodesPerCluster, 0)))
    .addOption(dryRunOption())
    .addOption(yesOption())
    .action(withCli(setPool));
  command
    .command('delete <cluster> <pool>')
    .description('drain a node pool and remove it')
    .addOption(yesOption())
    .action(withCli(deletePool));
  return command;
}

async function listPools(cli: Cli, cluster: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const pools = await client.listAll('listNodePools', { team, cluster }, { signal });
  showList(cli, pools, 'node pools', {
    NAME: ({ name }) => name,
    SOURCE: ({ source }) => source,
    MACHINE: ({ machineType }) => machineType,
    NODES: (pool) => rangeText(pool),
    READY: ({ status }) => status.backingReady,
  });
}

async function showPool(cli: Cli, cluster: string, pool: string): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { body } = await client.getNodePool({ team, cluster, pool }, { signal });
  cli.result(body, () =>
    renderFacts([
      ['Name', body.name],
      ['Source', body.source],
      ['Machine', body.machineType],
      ['Nodes', rangeText(body)],
      ['Ready', body.status.backingReady],
      ['Image', Object.values(body.image).join(' ')],
      ['Public address', body.publicIP ? 'yes' : 'no'],
    ]),
  );
}

interface SetOptions {
  readonly machineType?: string;
  readonly source?: Pool['source'];
  readonly min?: number;
  readonly max?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

async function setPool(cli: Cli, cluster: string, pool: string, options: SetOptions): Promise<void> {
  const { dryRun = false, yes = false } = options;
  const api = await connectTeam(cli);
  const { client, team, signal } = api;
  const path = { team, cluster, pool };
  const plan = await planPool(api, cluster, pool, options);
  if (dryRun) {
    cli.result(plan, () => planText(cli, plan));
    return;
  }
  if (plan.changes.length === 0 && plan.effects.length === 0) {
    cli.result(plan.resource, `Node pool ${pool} is as given.\n`);
    return;
  }
  if (!yes) {
    cli.note(planText(cli, plan).trimEnd());
    await confirm(cli.io, 'Make these changes?', yes);
  }
  const { body, operation } = await changePool(api, cluster, pool, options, (declared, precondition) =>
    client.putNodePool(path, { body: declared, ...precondition, signal }),
  );
  cli.result(body, `Node pool ${pool} is declared${operation === null ? '' : `, operation ${operation.id}`}.\n`);
}

async function planPool(api: TeamApi, cluster: string, pool: string, options: SetOptions): Promise<PoolPlan> {
  const { client, team, signal } = api;
  const answer = await changePool(api, cluster, pool, options, (body) =>
    client.putNodePool({ team, cluster, pool }, { body, query: { dryRun: true }, signal }),
  );
  return answer.body as PoolPlan;
}

type Declared = ClusterSchemas['NodePoolAsRead'];
type Precondition = { readonly ifMatch?: string | undefined } | { readonly ifNoneMatch: '*' };

/** A declaration replaces the whole pool, so it holds what the pool has, and what is given. */
async function changePool<R>(
  { client, team, signal }: TeamApi,
  cluster: string,
  pool: string,
  { machineType, source, min, max }: SetOptions,
  send: (declared: Declared, precondition: Precondition) => Promise<R>,
): Promise<R> {
  const given = {
    ...(machineType === undefined ? {} : { machineType }),
    ...(source === undefined ? {} : { source }),
    ...(min === undefined ? {} : { minimum: min }),
    ...(max === undefined ? {} : { maximum: max }),
  };
  const path = { team, cluster, pool };
  const read = await client.getNodePool(path, { signal }).catch((error: unknown) => {
    if (isCorralError(error) && error.status === 404) return null;
    throw error;
  });
  if (read === null) {
    if (max === undefined) throw usageError(`There is no node pool ${pool}. To add it, say how many nodes: --max 3.`);
    return send({ name: pool, minimum: min ?? max, ...given }, { ifNoneMatch: '*' });
  }
  return edit(
    () => client.getNodePool(path, { signal }),
    (current, ifMatch) => send({ ...current, ...given }, { ifMatch }),
  );
}

function planText(cli: Cli, { effects, changes, costDifference, cost, recordSets }: PoolPlan): string {
  if (effects.length === 0 && changes.length === 0) return 'Nothing would change.\n';
  const lines = effects.filter(({ kind }) => kind !== 'kept').map((effect) => effectText(effect, cli.style));
  return `${[...lines, ...recordSetLines(recordSets), ...costLines(costDifference.monthly, cost.currency)].join('\n')}\n`;
}

async function deletePool(cli: Cli, cluster: string, pool: string, { yes = false }: { readonly yes?: boolean }) {
  const { client, team, signal } = await connectTeam(cli);
  if (!yes) {
    const { body } = await client.deleteNodePool({ team, cluster, pool }, { query: { dryRun: true }, signal });
    cli.note(planText(cli, body as PoolPlan).trimEnd());
  }
  await confirmName(cli.io, `The nodes of ${pool} are drained and removed.`, pool, yes);
  const { operation } = await client.deleteNodePool({ team, cluster, pool }, { signal });
  cli.result(
    { pool, deleted: true, operation: operation?.id ?? null },
    `Node pool ${pool} is removed${operation === null ? '' : `, operation ${operation.id}`}.\n`,
  );
}
