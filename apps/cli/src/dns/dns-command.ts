import { dnsLimits } from '@corral/contracts';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { WithCli } from '../cli.js';
import { deleteSets, exportSets, listSets, setSet } from './record-sets.js';
import { whoami } from './whoami.js';
import { diffZoneFile, importZoneFile } from './zone-file.js';

export function dnsCommand(withCli: WithCli): Command {
  const command = new Command('dns').description('record sets of the team, over the DNS API');
  command
    .command('list [name]')
    .description('list record sets; with a name, those at and below it')
    .option('--type <types...>', 'only these record types')
    .action(withCli(listSets));
  command
    .command('set <name> <type> <values...>')
    .description('make a record set what is given here: create it, or replace its values')
    .option('--add', 'keep the values that it has')
    .option('--ttl <seconds>', 'seconds, or `default` for that of the zone (without it: unchanged)', ttlOption)
    .option('--comment <text>', 'comment of the values given here')
    .option('--label <pairs...>', 'labels, such as env=prod; they replace all labels (without it: unchanged)')
    .option('--dry-run', 'show what would change, and change nothing')
    .action(withCli(setSet));
  command
    .command('delete <name> <type> [values...]')
    .description('delete a record set, or only these of its values')
    .option('--dry-run', 'show what would change, and change nothing')
    .option('-y, --yes', 'do not ask')
    .action(withCli(deleteSets));
  command
    .command('import [file]')
    .usage('[options] <file>')
    .description('make record sets what a zone file says; `-` reads standard input')
    .option('--prune [count]', 'also delete the sets that the file does not have; `--prune=12`: up to 12, even if most')
    .option('--partial', 'although some lines or sets cannot be written')
    .addOption(originOption())
    .addOption(encodingOption())
    .option('--dry-run', 'show what would change, and change nothing')
    .option('-y, --yes', 'do not ask, except before most sets are deleted')
    .action(withCli(importZoneFile));
  command
    .command('export')
    .description('print all record sets')
    .addOption(
      new Option('--format <format>', 'zone file, JSON of the API with labels, or resources of the hcloud provider')
        .choices(['zone', 'json', 'terraform'])
        .default('zone'),
    )
    .action(withCli(exportSets));
  command
    .command('diff <file>')
    .description('compare record sets with a zone file; ends with 1 if they differ, and with 2 after an error')
    .option('--prune', 'count sets that the file does not have as differences')
    .addOption(originOption())
    .addOption(encodingOption())
    .action(withCli(diffZoneFile));
  command
    .command('whoami')
    .description('show whose token this is, what it may write, and what is left of its limits')
    .action(withCli(whoami));
  return command;
}

const originOption = () =>
  new Option(
    '--origin <name>',
    'what names without a final dot are below, such as acme, or `@` for the zone (without it: as the plan says)',
  );
const encodingOption = () => new Option('--encoding <name>', 'of the file, such as latin1').default('utf-8');

/** @returns null for the default of the zone */
function ttlOption(text: string): number | null {
  if (text === 'default') return null;
  const seconds = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(seconds <= dnsLimits.ttlSecondsMax)) throw new InvalidArgumentError('Use a number of seconds, or `default`.');
  return seconds;
}
