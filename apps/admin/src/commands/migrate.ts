import { applyMigrations, type DatabaseService, databaseServices, grantServiceRights, roleOf } from '@corral/database';
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
        const { applied, roles, missingRoles } = await migrateInstallation(context);
        const target = { kind: 'Database', name: applied.at(-1) ?? '' };
        const detail = { applied: applied.length };
        await context.perform({ team: null, action: 'database.migrate', target, detail }, async () => undefined);
        const text =
          applied.length === 0
            ? 'The database is already up to date.'
            : `The database is up to date. Migrations applied: ${applied.length}.`;
        context.print({ applied, roles, missingRoles }, `${text}\n${missingText(missingRoles)}`);
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
  const rolePrefix = io.env.DATABASE_ROLE_PREFIX || undefined;
  const roles = await grantServiceRights({
    databaseUrl: settings.databaseUrl,
    queueSchema,
    rolePrefix,
    passwords: passwordsOf(io.env),
  });
  for (const role of roles) progress(`granted the rights of ${role}\n`);
  const missingRoles = databaseServices
    .map((service) => ({ service, role: roleOf(service, rolePrefix), variable: passwordVariable(service) }))
    .filter(({ role }) => !roles.includes(role));
  return { applied, roles, missingRoles };
}

interface MissingRole {
  readonly service: DatabaseService;
  readonly role: string;
  /** Its value becomes the password of the role. */
  readonly variable: string;
}

/** Says what to set for each role that does not exist. */
export const missingText = (missing: readonly MissingRole[]): string =>
  missing
    .map(
      ({ service, role, variable }) =>
        `The role ${role} does not exist. If you run the ${service}, set ${variable} to a password for it, and run \`migrate\` again.\n`,
    )
    .join('');

/** `DNS_GATEWAY_DATABASE_PASSWORD` and so on. */
const passwordVariable = (service: DatabaseService): string =>
  `${service.toUpperCase().replaceAll('-', '_')}_DATABASE_PASSWORD`;

const passwordsOf = (env: NodeJS.ProcessEnv): { [service in DatabaseService]?: string | undefined } =>
  Object.fromEntries(databaseServices.map((service) => [service, env[passwordVariable(service)] || undefined]));
