import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { type DatabaseService, databaseServices, serviceRights, sqlOfRights } from './service-rights.js';

interface GrantOptions {
  /** The database, as the owner of its tables. */
  readonly databaseUrl: string;
  /** Schema of the queue, for the services that send or take jobs. It may be absent. */
  readonly queueSchema: string;
  /** Start of the names of all roles. Installations that share a server need different ones. Default: `corral_`. */
  readonly rolePrefix?: string | undefined;
  /** Creates the role of a service with this password, or changes its password. Without one, the role may exist already. */
  readonly passwords: { readonly [service in DatabaseService]?: string | undefined };
}

/** @returns the name of the role of a service, such as `corral_dns_gateway` */
export const roleOf = (service: DatabaseService, rolePrefix = 'corral_'): string =>
  `${rolePrefix}${service.replaceAll('-', '_')}`;

const TRIES_MAX = 8;

/**
 * Gives each service's role exactly the listed rights in this database, in one transaction, so running services notice nothing.
 * Rights that are no longer listed end. Roles that do not exist and have no password are left out. Safe to repeat.
 *
 * @returns the names of the roles that have rights now
 * @throws the error of Postgres, for example without the right to create roles
 */
export async function grantServiceRights(options: GrantOptions): Promise<string[]> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await grantOnce(options);
    } catch (error) {
      // Roles belong to the whole server: somebody else changes one in another database.
      if (tries === TRIES_MAX || !isConcurrentChange(error)) throw error;
      await pause(tries * 50);
    }
  }
}

/** Errors of concurrent changes of catalogues: a duplicate, and `tuple concurrently updated`. */
const isConcurrentChange = (error: unknown): boolean =>
  ['23505', '42710', 'XX000', '40P01'].includes((error as { code?: string }).code ?? '');

async function grantOnce({ databaseUrl, queueSchema, rolePrefix, passwords }: GrantOptions): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => undefined); // the next query reports the broken connection
  await client.connect();
  try {
    await client.query('BEGIN');
    const roles: string[] = [];
    for (const service of databaseServices) {
      const role = roleOf(service, rolePrefix);
      const password = passwords[service];
      const exists = (await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [role])).rowCount === 1;
      if (!exists && password === undefined) continue;
      const name = pg.escapeIdentifier(role);
      if (!exists) await client.query(`CREATE ROLE ${name} LOGIN`);
      if (password !== undefined) {
        await client.query(`ALTER ROLE ${name} PASSWORD ${pg.escapeLiteral(scramVerifier(password))}`);
      }
      await client.query(await statementsFor(client, queueSchema, service, name));
      roles.push(role);
    }
    await client.query('COMMIT');
    return roles;
  } finally {
    await client.end();
  }
}

async function statementsFor(
  client: pg.Client,
  queueSchema: string,
  service: DatabaseService,
  name: string,
): Promise<string> {
  const { tables, queue } = serviceRights[service];
  const schema = pg.escapeIdentifier(queueSchema);
  const { rows } = await client.query<{ database: string; has_queue: boolean }>(
    'SELECT current_database() AS database, to_regclass($1) IS NOT NULL AS has_queue',
    [`${schema}.migration`],
  );
  const { database = '', has_queue: hasQueue = false } = rows[0] ?? {};
  const statements = [
    `GRANT CONNECT ON DATABASE ${pg.escapeIdentifier(database)} TO ${name}`,
    `GRANT USAGE ON SCHEMA public TO ${name}`,
    `REVOKE ALL ON ALL TABLES IN SCHEMA public FROM ${name}`,
    `GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${name}`,
    ...Object.entries(tables).map(
      ([table, rights]) => `GRANT ${sqlOfRights(table, rights)} ON public.${pg.escapeIdentifier(table)} TO ${name}`,
    ),
  ];
  if (hasQueue) {
    statements.push(
      `REVOKE ALL ON ALL TABLES IN SCHEMA ${schema} FROM ${name}`,
      `REVOKE ALL ON ALL SEQUENCES IN SCHEMA ${schema} FROM ${name}`,
      `REVOKE ALL ON SCHEMA ${schema} FROM ${name}`,
    );
  }
  if (hasQueue && queue) {
    statements.push(
      `GRANT USAGE ON SCHEMA ${schema} TO ${name}`,
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${name}`,
      `GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${name}`,
      `REVOKE INSERT, UPDATE, DELETE ON ${schema}.migration FROM ${name}`,
    );
  }
  return statements.join(';\n');
}

const ITERATIONS = 4_096;

/**
 * What Postgres stores of a password (RFC 5802). With it the statement contains no password, which the server might log, and
 * every character is possible.
 */
function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256');
  const keyOf = (text: string) => createHmac('sha256', salted).update(text).digest();
  const stored = createHash('sha256').update(keyOf('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${stored}:${keyOf('Server Key').toString('base64')}`;
}
