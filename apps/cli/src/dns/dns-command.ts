import { dnsLimits } from '@corral/contracts';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { connectTeam } from '../clusters/team-api.js';
import { showList } from '../output/show-list.js';
import { dryRunOption, yesOption } from '../settings/options.js';
import { dnsToken } from './dns-token.js';
import { leftovers } from './leftovers.js';
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
    .description('create or replace a record set')
    .option('--add', 'add these values to the existing ones')
    .option('--ttl <seconds>', 'seconds, or `default` for that of the zone (without it: unchanged)', ttlOption)
    .option('--comment <text>', 'comment on these values')
    .option('--label <pairs...>', 'labels, such as env=prod; they replace all labels (without it: unchanged)')
    .addOption(dryRunOption())
    .action(withCli(setSet));
  command
    .command('delete <name> <type> [values...]')
    .description('delete a record set, or some of its values')
    .addOption(dryRunOption())
    .addOption(yesOption())
    .action(withCli(deleteSets));
  command
    .command('import [file]')
    .usage('[options] <file>')
    .description('create or replace record sets from a zone file; `-` reads standard input')
    .option(
      '--prune [count]',
      'also delete sets that are not in the file; `--prune=12`: up to 12, even if that is most of them',
    )
    .option('--partial', 'import the rest if some lines or sets cannot be written')
    .addOption(originOption())
    .addOption(encodingOption())
    .addOption(dryRunOption())
    .option('-y, --yes', 'do not ask, except before deleting most sets')
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
    .description('compare record sets with a zone file; exits with 1 if they differ, and with 2 after an error')
    .option('--prune', 'count sets that are not in the file as differences')
    .addOption(originOption())
    .addOption(encodingOption())
    .action(withCli(diffZoneFile));
  command
    .command('leftovers')
    .description('list ACME challenges that nobody took away within a day')
    .option('--delete', 'delete them')
    .option('--dry-run', 'show what would be deleted, and change nothing')
    .addOption(yesOption())
    .action(withCli(leftovers));
  command
    .command('dangling')
    .description('list record sets that lead to an address which a cluster or server of the team had and which is gone')
    .action(withCli(listDangling));
  command
    .command('whoami')
    .description('show whose token this is, what it may write, and how much of its limits is left')
    .action(withCli(whoami));
  command
    .command('token [command...]')
    .usage('[options] [-- command...]')
    .description('run a command with a DNS token of 15 minutes in HCLOUD_TOKEN, or print the token')
    .action(withCli(dnsToken));
  return command;
}

async function listDangling(cli: Cli): Promise<void> {
  const { client, team, signal } = await connectTeam(cli);
  const { body } = await client.listDanglingRecordSets({ team }, { signal });
  showList(cli, body.items, 'record sets that lead to an address which is gone', {
    NAME: ({ name, zone }) => `${name}.${zone}`,
    TYPE: ({ type }) => type,
    REASON: ({ reason }) => reason,
  });
}

const originOption = () =>
  new Option(
    '--origin <name>',
    'the name that relative names are below, such as acme, or `@` for the zone (default: as the plan says)',
  );
const encodingOption = () => new Option('--encoding <name>', 'encoding of the file, such as latin1').default('utf-8');

/** @returns null for the default of the zone */
function ttlOption(text: string): number | null {
  if (text === 'default') return null;
  const seconds = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(seconds <= dnsLimits.ttlSecondsMax)) throw new InvalidArgumentError('Use a number of seconds, or `default`.');
  return seconds;
}
