import { clusterPhases } from '@corral/contracts';
import { Command, Option } from 'commander';
import type { WithCli } from '../cli.js';
import {
  allowRemovalsOption,
  dryRunOption,
  filesOption,
  neededFiles,
  timeoutOption,
  yesOption,
} from '../settings/options.js';
import { applyClusters, diffDocuments, planToFile } from './apply.js';
import { setProtected } from './declare-part.js';
import { deleteClusters } from './delete.js';
import type { LifecycleOptions } from './end-operation.js';
import { exportClusters } from './export.js';
import { retryCluster, setHibernated } from './hibernate.js';
import { namesCommand } from './names-command.js';
import { listClusters, showCluster } from './show.js';
import { setSchedule } from './sleep.js';
import { waitForClusters } from './wait.js';

const waitOption = () => new Option('--wait', 'wait until the operation has ended');
const pruneOption = () =>
  new Option('--prune', 'also plan the deletion of the clusters of the team that no file names');

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
    .command('export [names...]')
    .description('print clusters as `apply` takes them: those that are named, or all')
    .action(withCli(exportClusters));
  command
    .command('apply [plan]')
    .description('create clusters, or change them to match files; or carry out a plan that `plan` saved')
    .addOption(filesOption())
    .addOption(waitOption())
    .addOption(timeoutOption())
    .addOption(dryRunOption())
    .addOption(yesOption())
    .addOption(allowRemovalsOption())
    .option(
      '--prune [count]',
      'also delete the clusters of the team that no file names; `--prune=2`: up to 2, without asking for the number',
    )
    .action(withCli(applyClusters));
  command
    .command('plan')
    .description('show what `apply` would do, and save it: `apply <file>` does exactly that, or nothing')
    .addOption(neededFiles())
    .addOption(pruneOption())
    .requiredOption('--out <file>', 'where the plan is saved, in JSON')
    .action(withCli(planToFile));
  command
    .command('diff')
    .description('show what `apply` would do; exits with 1 if anything would change, and with 2 after an error')
    .addOption(neededFiles())
    .addOption(pruneOption())
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
  const switches = [
    ['hibernate', setHibernated, true, 'hibernate a cluster: its nodes are deleted, its volumes stay'],
    ['resume', setHibernated, false, 'resume a hibernated cluster'],
    ['protect', setProtected, true, 'protect a cluster: nobody can delete it'],
    ['unprotect', setProtected, false, 'lift the protection of a cluster from deletion'],
  ] as const;
  for (const [name, set, value, description] of switches) {
    command
      .command(`${name} <name>`)
      .description(description)
      .addOption(waitOption())
      .addOption(timeoutOption())
      .addOption(dryRunOption())
      .action(withCli((cli, cluster: string, options: LifecycleOptions) => set(cli, cluster, value, options)));
  }
  command
    .command('sleep <name>')
    .description('hibernate a cluster outside of its hours, or end its schedule')
    .option('--weekdays <days>', 'the days on which it is awake, such as `mon-fri` or `mon,wed`')
    .option('--from <time>', 'when it wakes, such as `07:00`')
    .option('--to <time>', 'when it goes to sleep, such as `19:00`; `24:00` is the end of the day')
    .option('--time-zone <name>', 'such as `Europe/Berlin`; default: as it is, or UTC')
    .option('--off', 'end the schedule; the cluster stays awake or asleep, as it is')
    .addOption(waitOption())
    .addOption(timeoutOption())
    .addOption(dryRunOption())
    .addOption(yesOption())
    .action(withCli(setSchedule));
  command
    .command('retry <name>')
    .description('try the declared specification again after its operation failed')
    .addOption(waitOption())
    .addOption(timeoutOption())
    .action(withCli(retryCluster));
  command
    .command('delete [name]')
    .description('delete a cluster with its nodes, volumes and load balancers, or all that files name')
    .addOption(filesOption())
    .addOption(waitOption())
    .addOption(timeoutOption())
    .addOption(dryRunOption())
    .addOption(yesOption())
    .option('--ignore-not-found', 'succeed if there is no such cluster')
    .action(withCli(deleteClusters));
  command.addCommand(namesCommand(withCli));
  return command;
}
