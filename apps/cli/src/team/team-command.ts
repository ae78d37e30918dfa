import { Command } from 'commander';
import type { WithCli } from '../cli.js';
import { allowRemovalsOption, dryRunOption, neededFiles, timeoutOption, yesOption } from '../settings/options.js';
import { applyTeam, diffTeam } from './apply.js';
import { exportTeam } from './export.js';

/** A team as files in git declare it. */
export const teamFileCommands = (withCli: WithCli): Command[] => [
  new Command('export')
    .description(
      'write clusters, record sets and access of the team as `apply` takes them: into a folder, or print them',
    )
    .argument('[folder]', 'where clusters.yaml, records.yaml and access.yaml are written')
    .action(withCli(exportTeam)),
  new Command('apply')
    .description('change clusters, record sets and access of the team to match files, in one plan')
    .addOption(neededFiles())
    .option('--wait', 'wait until the operations of clusters have ended')
    .addOption(timeoutOption())
    .addOption(dryRunOption())
    .addOption(yesOption())
    .addOption(allowRemovalsOption())
    .option(
      '--prune [count]',
      'also delete what no file names, of the kinds that the files have; `--prune=2`: up to 2, without asking for the number',
    )
    .action(withCli(applyTeam)),
  new Command('diff')
    .description('show what `apply` would do; exits with 1 if anything would change, and with 2 after an error')
    .addOption(neededFiles())
    .option('--prune', 'also plan the deletion of what no file names, of the kinds that the files have')
    .action(withCli(diffTeam)),
];
