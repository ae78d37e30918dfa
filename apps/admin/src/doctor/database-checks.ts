import { behindTransactionPooler, databaseServices, missingMigration, readClock, roleOf } from '@corral/database';
import { type Check, failed, ok, unchecked, warning } from './check.js';

/** Times of the services are those of Postgres. Those of people and certificates are not. */
const CLOCK_MS_MAX = 5_000;

export const postgres: Check = async ({ context, pool }) => {
  const { rows } = await pool.query<{ version: string; isStandby: boolean; isReadOnly: boolean }>(
    `SELECT split_part(current_setting('server_version'), ' ', 1) AS version, pg_is_in_recovery() AS "isStandby", reset_val = 'on' AS "isReadOnly"
     FROM pg_settings WHERE name = 'default_transaction_read_only'`,
  );
  const [server] = rows;
  if (server?.isStandby !== false || server.isReadOnly)
    return failed('Postgres takes no writes. The address of the database has to lead to the primary.');
  if (await behindTransactionPooler(context.settings.databaseUrl, 'corral-admin-doctor'))
    return failed('A pooler shares the sessions. Set it to session mode (pool_mode = session in PgBouncer).');
  return ok(`Postgres ${server.version} takes writes, and sessions are direct.`);
};

export const clock: Check = async ({ context }) => {
  const before = Date.now();
  const now = await readClock(context.prisma);
  const apartMs = Math.abs(now.getTime() - (before + Date.now()) / 2);
  return apartMs <= CLOCK_MS_MAX
    ? ok('The clocks of Postgres and this machine agree.')
    : warning(`The clocks of Postgres and this machine are ${Math.round(apartMs / 1_000)} s apart. Check NTP on both.`);
};

export const schema: Check = async ({ pool }) => {
  const missing = await missingMigration(pool);
  return missing === null
    ? ok('All migrations of this release are applied.')
    : failed(`The migration ${missing} is missing. Run \`migrate\`.`);
};

export const roles: Check = async ({ context, pool }) => {
  const prefix = context.io.env.DATABASE_ROLE_PREFIX || undefined;
  const names = databaseServices.map((service) => roleOf(service, prefix));
  const { rows } = await pool.query<{ name: string; hasRights: boolean }>(
    `SELECT rolname AS name, has_table_privilege(oid, 'service_process', 'INSERT') AS "hasRights" FROM pg_roles WHERE rolname = ANY($1)`,
    [names],
  );
  if (rows.length === 0)
    return unchecked('No service has a role of its own. `migrate` makes them from their passwords.');
  const without = rows.filter(({ hasRights }) => !hasRights).map(({ name }) => name);
  if (without.length > 0) return failed(`Rights are missing: ${without.join(', ')}. Run \`migrate\` of this release.`);
  return ok(`Roles with rights: ${rows.map(({ name }) => name).join(', ')}.`);
};
