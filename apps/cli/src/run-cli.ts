import tab from '@bomb.sh/tab/commander';
import { Command, Option } from 'commander';
import { apiCommand } from './api/api-command.js';
import { auditCommand } from './audit/audit-command.js';
import { cliFor, type GlobalOptions, versionText, type WithCli } from './cli.js';
import { clustersCommand } from './clusters/clusters-command.js';
import { connectionsCommand } from './connections/connections-command.js';
import { demosCommand } from './dns/demos-command.js';
import { dnsCommand } from './dns/dns-command.js';
import { doctorCommand } from './doctor/doctor-command.js';
import { addExamples } from './examples.js';
import { exitCodes, ProgramFailed } from './exit-codes.js';
import type { CliIo } from './io.js';
import { kubeconfigCommand } from './kubeconfig/kubeconfig-command.js';
import { operationsCommand } from './operations/operations-command.js';
import { outputFormats } from './output/printer.js';
import { reportError } from './output/report-error.js';
import { invitationsCommand } from './people/invitations-command.js';
import { openCommand } from './people/open-command.js';
import { peopleCommand } from './people/people-command.js';
import { teamsCommand } from './people/teams-command.js';
import { poolsCommand } from './pools/pools-command.js';
import { serversCommand } from './servers/servers-command.js';
import { contextsCommand } from './settings/contexts-command.js';
import { sessionsCommand } from './sign-in/sessions-command.js';
import { signInCommands } from './sign-in/sign-in-command.js';
import { teamFileCommands } from './team/team-command.js';
import { accountsCommand } from './tokens/accounts-command.js';
import { issuersCommand } from './tokens/issuers-command.js';
import { tokensCommand } from './tokens/tokens-command.js';
import { catalogueCommand, usageCommand } from './usage/usage-command.js';
import { webhooksCommand } from './webhooks/webhooks-command.js';

/**
 * Runs one command line.
 *
 * @param argv without the program's name
 * @returns the exit code, which is that of the program if the command ran one
 */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  const program: Command = buildProgram(io, (action) => async (...args) => {
    await action(cliFor(io, program.opts<GlobalOptions>()), ...args);
  });
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCodes[io.signal.aborted ? 'interrupted' : 'ok'].code;
  } catch (error) {
    if (error instanceof ProgramFailed) return error.exitCode;
    const reason = reportError(error, io, program.opts<GlobalOptions>().output);
    return exitCodes[io.signal.aborted ? 'interrupted' : reason].code;
  }
}

/** All commands. `withCli` makes their actions. */
export function buildProgram({ out, err }: Pick<CliIo, 'out' | 'err'>, withCli: WithCli): Command {
  const program = new Command('corral')
    .description('Names and Kubernetes clusters of your team.')
    .version(versionText, '-V, --version', 'show the version')
    .option('--context <name>', 'the installation and team to use (default: CORRAL_CONTEXT, else the current context)')
    .option('--team <slug>', 'the team (default: CORRAL_TEAM, else that of the context)')
    .addOption(new Option('-o, --output <format>', 'how results are printed').choices(outputFormats).default('table'))
    .addOption(new Option('-q, --quiet', 'print only results and errors, and never ask').conflicts('verbose'))
    .option('--verbose', 'also print each request to an API')
    .option('--no-input', 'never ask: what would be asked is an error')
    .helpOption('-h, --help', 'show help')
    .addHelpText(
      'after',
      '\nCORRAL_URL, CORRAL_TOKEN, CORRAL_DNS_URL and CORRAL_DNS_TOKEN replace a context. Exit codes: docs/cli.md.',
    )
    .helpCommand(false)
    .exitOverride()
    .configureOutput({ writeOut: (text) => out.write(text), writeErr: (text) => err.write(text) });
  const commands = [
    ...signInCommands(withCli),
    ...teamFileCommands(withCli),
    clustersCommand(withCli),
    poolsCommand(withCli),
    kubeconfigCommand(withCli),
    operationsCommand(withCli),
    catalogueCommand(withCli),
    connectionsCommand(withCli),
    serversCommand(withCli),
    dnsCommand(withCli),
    demosCommand(withCli),
    tokensCommand(withCli),
    accountsCommand(withCli),
    issuersCommand(withCli),
    webhooksCommand(withCli),
    peopleCommand(withCli),
    invitationsCommand(withCli),
    teamsCommand(withCli),
    sessionsCommand(withCli),
    usageCommand(withCli),
    auditCommand(withCli),
    openCommand(withCli),
    doctorCommand(withCli),
    apiCommand(withCli),
    contextsCommand(withCli),
    helpCommand(program),
  ];
  for (const command of commands) program.addCommand(inherit(command, program));
  tab(program, { completionCommandName: 'completion' });
  addExamples(program);
  return program;
}

/** Help for a command of any depth, such as `help dns set`. */
function helpCommand(program: Command): Command {
  return new Command('help')
    .description('show help for a command')
    .argument('[command...]', 'such as `dns set`')
    .action(async (words: readonly string[]) => {
      let command = program;
      for (const word of words) {
        if (command.commands.length === 0) break;
        const child = command.commands.find((each) => each.name() === word);
        // It says that there is no such command, and which one may be meant.
        if (child === undefined) return void (await command.parseAsync([word], { from: 'user' }));
        command = child;
      }
      command.help();
    });
}

/** Applies the parent's settings for errors and output, which separately built commands do not inherit. */
function inherit(command: Command, parent: Command): Command {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inherit(child, command);
  return command;
}
