import { clusterLimits, dnsTokenStates, writableTypes } from '@corral/contracts';
import { Command, Option } from 'commander';
import type { WithCli } from '../cli.js';
import { durationOption, wholeNumber } from '../settings/options.js';
import { createAccountToken, listAccountTokens, revokeAccountToken } from './account-tokens.js';
import { createDnsToken, listDnsTokens, revokeDnsToken } from './dns-tokens.js';

export function tokensCommand(withCli: WithCli): Command {
  const command = new Command('tokens').description('DNS tokens, and tokens of service accounts');
  const dns = command.command('dns').description('tokens of the DNS API');
  dns
    .command('list')
    .description('list your DNS tokens, or all of the team if you are an administrator')
    .addOption(new Option('--state <state>', 'only tokens in this state').choices(dnsTokenStates))
    .action(withCli(listDnsTokens));
  dns
    .command('create <name>')
    .description('create a DNS token and print it; it is shown only once')
    .option('--within <name>', 'only this name and names below it, such as ci.acme (default: all names of the team)')
    .addOption(new Option('--types <types...>', 'write only these record types (default: all)').choices(writableTypes))
    .option('--expires <duration>', 'how long it is valid, such as 90d (default: until it is revoked)', durationOption)
    .action(withCli(createDnsToken));
  dns
    .command('revoke <id>')
    .description('revoke a DNS token permanently; gateways refuse it within 2 s')
    .action(withCli(revokeDnsToken));
  const account = command.command('account').description('tokens of the service accounts of the cluster API');
  account
    .command('list <account>')
    .description('list the tokens of a service account, without their texts')
    .action(withCli(listAccountTokens));
  account
    .command('create <account>')
    .description('create a token of a service account and print it; it is shown only once')
    .addOption(
      new Option('--days <days>', 'how long it is valid')
        .argParser(wholeNumber(clusterLimits.accountTokenDays))
        .default(90),
    )
    .action(withCli(createAccountToken));
  account
    .command('revoke <account> <id>')
    .description('revoke a token permanently, effective with its next request')
    .action(withCli(revokeAccountToken));
  return command;
}
