import { applyMigrations } from '@corral/database';
import { Command } from 'commander';
import type { WithContext } from '../admin-context.js';

const CONNECT_MS = 10_000;

export function migrateCommand(withContext: WithContext): Command {
  return new Command('migrate')
    .description('apply all pending database migrations; safe to repeat and while services run')
    .action(
      withContext(async ({ io, settings, print, tell }) => {
        const applied = await applyMigrations({
          databaseUrl: settings.databaseUrl,
          migrationsDir: io.migrationsDir,
          connectTimeoutMs: CONNECT_MS,
          log: (line) => tell(`${line}\n`),
        });
        const text =
          applied.length === 0
            ? 'The database is already up to date.'
            : `The database is up to date. Migrations applied: ${applied.length}.`;
        print({ applied }, `${text}\n`);
      }),
    );
}
