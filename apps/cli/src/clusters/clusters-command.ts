import { clusterPhases } from '@corral/contracts';
import { Command, Option } from 'commander';
import type { WithCli } from '../cli.js';
import { timeoutOption } from '../settings/options.js';
import { applyDocuments, diffDocuments } from './apply.js';
import { deleteCluster } from './delete.js';
import type { LifecycleOptions } from './end-operation.js';
import { retryCluster, setHibernated } from './hibernate.js';
import { listClusters, showCluster } from './show.js';
import { waitForClusters } from './wait.js';

const waitOption = () => new Option('--wait', 'wait until the operation has ended');
const dryRunOption = () => new Option('--dry-run', 'show what would change, and change nothing');
const yesOption = () => new Option('-y, --yes', 'do not ask');
const filesOption = () =>
  new Option(
    '-f, --file <paths...>',
    'files and folders in YAML or JSON; `-` reads standard input',
  ).makeOptionMandatory();

export function clustersCommand(withCli: WithCli): Command {
  const command = new Command('clusters').description('Kubernetes clusters of the team');
  command
    .command('list')
    .description('list the clusters')
    .addOption(new Option('--phase <phases...>', 'only clusters in these phases').choices(clusterPhases))
    .option('--connection <ref>', 'only clusters of this connection')
    .action(withCli(listClusters));
  command
    .command('get <name>')
    .description('show a cluster; `-o yaml` prints what `apply` takes')
    .action(withCli(showCluster));
  command
    .command('apply')
    .description('create clusters, or change them to match files')
    .addOption(filesOption())
    .addOption(waitOption())
    .addOption(timeoutOption())
    .addOption(dryRunOption())
    .addOption(yesOption())
    .option('--allow-removals', 'without a terminal: allow changes that remove, replace or wipe nodes and servers')
    .action(withCli(applyDocuments));
  command
    .command('diff')
    .description('show what `apply` would do; exits with 1 if anything would change, and with 2 after an error')
    .addOption(filesOption())
    .action(withCli(diffDocuments));
  command
    .command('wait <names...>')
    .description('wait for clusters to converge')
    .option(
      '--for <state>',
      '`ready`, `hibernated`, `deleted`, `phase=<phase>` or `condition=<type>`; exits early if the operation fails',
      'ready',
    )
    .addOption(timeoutOption())
    .action(withCli(waitForClusters));
  for (const [name, isHibernated] of [
    ['hibernate', true],
    ['resume', false],
  ] as const) {
    command
      .command(`${name} <name>`)
      .description(
        isHibernated ? 'hibernate a cluster: its nodes are deleted, its volumes stay' : 'resume a hibernated cluster',
      )
      .addOption(waitOption())
      .addOption(timeoutOption())
      .addOption(dryRunOption())
      .action(
        withCli((cli, cluster: string, options: LifecycleOptions) =>
          setHibernated(cli, cluster, isHibernated, options),
        ),
      );
  }
  command
    .command('retry <name>')
    .description('try the declared specification again after its operation failed')
    .addOption(waitOption())
    .addOption(timeoutOption())
    .action(withCli(retryCluster));
  command
    .command('delete <name>')
    .description('delete a cluster with its nodes, volumes and load balancers')
    .addOption(waitOption())
    .addOption(timeoutOption())
    .addOption(dryRunOption())
    .addOption(yesOption())
    .option('--ignore-not-found', 'succeed if there is no such cluster')
    .action(withCli(deleteCluster));
  return command;
}
