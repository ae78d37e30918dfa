import tab from '@bomb.sh/tab/commander';
import { corralVersion } from '@corral/service';
import { Command, CommanderError, Option } from 'commander';
import { type AdminIo, type WithContext, withContext } from './admin-context.js';
import { auditCommand } from './commands/audit.js';
import { backupCommand, backupStoredCommand, restoreCommand } from './commands/backup.js';
import { courseCommand } from './commands/course.js';
import { doctorCommand } from './commands/doctor.js';
import { holdCommand, resumeCommand } from './commands/hold.js';
import { listCommands } from './commands/lists.js';
import { migrateCommand } from './commands/migrate.js';
import { operatorsCommand } from './commands/operators.js';
import { retentionCommand } from './commands/retention.js';
import { secretsCommand } from './commands/secrets.js';
import { teamCommand } from './commands/team.js';
import { tokenCommand } from './commands/token.js';
import { upstreamCommand } from './commands/upstream.js';
import { usageCommand } from './commands/usage.js';
import { userCommand } from './commands/user.js';
import { zoneCommand } from './commands/zone.js';
import { sentenceOf } from './operator-error.js';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

/**
 * Runs one command line.
 *
 * @param argv without the program's name
 * @returns the exit code: 0 on success, 1 on failure, 2 on a usage error
 */
export async function runAdmin(argv: readonly string[], io: AdminIo): Promise<number> {
  const program = new Command('corral-admin')
    .description('Administration of a Corral installation.')
    .version(corralVersion, '-V, --version', 'show the version')
    .option('--json', 'print results as JSON')
    .addOption(new Option('-o, --output <format>', 'format of results').choices(['text', 'json']))
    .option('--as <name>', 'name of the operator in the audit log (default: CORRAL_OPERATOR, else the system user)')
    .helpOption('-h, --help', 'show help')
    .addHelpText(
      'after',
      '\nDATABASE_URL, REDIS_URL and DNS_ZONE_NAME select the installation. Without DATABASE_URL it is the one\nthat `npm start` runs in this folder.',
    )
    .exitOverride()
    .configureOutput({ writeOut: io.out, writeErr: io.err });
  const withIo: WithContext =
    (action) =>
    (...args) =>
      withContext(
        io,
        { json: program.opts().json === true || program.opts().output === 'json', as: program.opts().as },
        (context) => action(context, ...args),
      );
  for (const command of [
    teamCommand(withIo),
    userCommand(withIo),
    tokenCommand(withIo),
    usageCommand(withIo),
    auditCommand(withIo),
    courseCommand(withIo),
    zoneCommand(withIo),
    secretsCommand(withIo),
    migrateCommand(withIo),
    backupCommand(withIo),
    backupStoredCommand(withIo),
    restoreCommand(withIo),
    holdCommand(withIo),
    resumeCommand(withIo),
    operatorsCommand(withIo),
    retentionCommand(withIo),
    upstreamCommand(withIo),
    doctorCommand(withIo),
    ...listCommands(withIo),
  ]) {
    program.addCommand(inherit(command, program));
  }
  tab(program, { completionCommandName: 'completion' });
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
    io.err(`${sentenceOf(error)}\n`);
    return EXIT_FAILED;
  }
}

/** Applies the parent's settings for errors and output, which separately built commands do not inherit. */
function inherit(command: Command, parent: Command): Command {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inherit(child, command);
  return command;
}
