import tab from '@bomb.sh/tab/commander';
import { Command, Option } from 'commander';
import { auditCommand } from './audit/audit-command.js';
import { cliFor, type GlobalOptions, versionText, type WithCli } from './cli.js';
import { clustersCommand } from './clusters/clusters-command.js';
import { dnsCommand } from './dns/dns-command.js';
import { exitCodes } from './exit-codes.js';
import type { CliIo } from './io.js';
import { kubeconfigCommand } from './kubeconfig/kubeconfig-command.js';
import { outputFormats } from './output/printer.js';
import { reportError } from './output/report-error.js';
import { contextsCommand } from './settings/contexts-command.js';
import { signInCommands } from './sign-in/sign-in-command.js';
import { accountsCommand } from './tokens/accounts-command.js';
import { tokensCommand } from './tokens/tokens-command.js';

/**
 * Runs one command line.
 *
 * @param argv without the program's name
 * @returns the exit code
 */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  const program: Command = buildProgram(io, (action) => async (...args) => {
    await action(cliFor(io, program.opts<GlobalOptions>()), ...args);
  });
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCodes[io.signal.aborted ? 'interrupted' : 'ok'].code;
  } catch (error) {
    const reason = reportError(error, io);
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
    .helpOption('-h, --help', 'show help')
    .addHelpText(
      'after',
      '\nCORRAL_URL, CORRAL_TOKEN, CORRAL_DNS_URL and CORRAL_DNS_TOKEN replace a context. Exit codes: docs/cli.md.',
    )
    .exitOverride()
    .configureOutput({ writeOut: (text) => out.write(text), writeErr: (text) => err.write(text) });
  const commands = [
    ...signInCommands(withCli),
    clustersCommand(withCli),
    kubeconfigCommand(withCli),
    dnsCommand(withCli),
    tokensCommand(withCli),
    accountsCommand(withCli),
    auditCommand(withCli),
    contextsCommand(withCli),
  ];
  for (const command of commands) program.addCommand(inherit(command, program));
  tab(program, { completionCommandName: 'completion' });
  return program;
}

/** Applies the parent's settings for errors and output, which separately built commands do not inherit. */
function inherit(command: Command, parent: Command): Command {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inherit(child, command);
  return command;
}
