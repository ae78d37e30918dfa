import { applyMigrations, type DatabaseService, databaseServices, grantServiceRights } from '@corral/database';
import { prepareQueue, queueSchema } from '@corral/queue';
import { Command } from 'commander';
import type { AdminContext, WithContext } from '../admin-context.js';

const CONNECT_MS = 10_000;

export function migrateCommand(withContext: WithContext): Command {
  return new Command('migrate')
    .description(
      'apply all pending migrations and grant the rights of the services; safe to repeat, and while services run',
    )
    .action(
      withContext(async (context) => {
        const { applied, roles } = await migrateInstallation(context);
        const target = { kind: 'Database', name: applied.at(-1) ?? '' };
        const detail = { applied: applied.length };
        await context.perform({ team: null, action: 'database.migrate', target, detail }, async () => undefined);
        const text =
          applied.length === 0
            ? 'The database is already up to date.'
            : `The database is up to date. Migrations applied: ${applied.length}.`;
        context.print({ applied, roles }, `${text}\n`);
      }),
    );
}

/** Applies all pending migrations, prepares the queue, and grants the rights of the services. */
export async function migrateInstallation({ io, settings, progress }: AdminContext) {
  const applied = await applyMigrations({
    databaseUrl: settings.databaseUrl,
    migrationsDir: io.migrationsDir,
    connectTimeoutMs: CONNECT_MS,
    log: (line) => progress(`${line}\n`),
  });
  await prepareQueue(settings);
  const roles = await grantServiceRights({
    databaseUrl: settings.databaseUrl,
    queueSchema,
    rolePrefix: io.env.DATABASE_ROLE_PREFIX || undefined,
    passwords: passwordsOf(io.env),
  });
  for (const role of roles) progress(`granted the rights of ${role}\n`);
  return { applied, roles };
}

/** `DNS_GATEWAY_DATABASE_PASSWORD` and so on. */
const passwordsOf = (env: NodeJS.ProcessEnv): { [service in DatabaseService]?: string | undefined } =>
  Object.fromEntries(
    databaseServices.map((service) => {
      const name = `${service.toUpperCase().replaceAll('-', '_')}_DATABASE_PASSWORD`;
      return [service, env[name] || undefined];
    }),
  );
