import { fileURLToPath } from 'node:url';
import { applyMigrations } from './apply-migrations.js';
import { createMigration, diffMigrations, withScratchDatabase } from './diff-migrations.js';

const USAGE = `Usage: node packages/database/dist/migrate/main.js <command>

  deploy       apply what is missing to the database at DATABASE_URL
  diff         show the SQL between the migrations and schema.prisma; ends with code 1 when they differ
  new <name>   write that SQL as a new migration

diff and new apply the migrations to a scratch database on the server of DATABASE_URL, or on an embedded Postgres.
MIGRATIONS_DIR and SCHEMA_FILE override prisma/migrations and prisma/schema.prisma of this repository.
`;

const fromHere = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** @returns the exit code */
async function run([command, name]: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const files = {
    migrationsDir: env.MIGRATIONS_DIR || fromHere('../../../../prisma/migrations'),
    schemaFile: env.SCHEMA_FILE || fromHere('../../../../prisma/schema.prisma'),
  };
  if (command === 'deploy') return deploy(env.DATABASE_URL, files.migrationsDir);
  if (command === 'diff') {
    const sql = await onScratch(env.DATABASE_URL, (databaseUrl) => diffMigrations({ databaseUrl, ...files }));
    say(sql === '' ? 'Migrations and schema agree.' : sql);
    return sql === '' ? 0 : 1;
  }
  if (command === 'new' && name !== undefined) {
    const written = await onScratch(env.DATABASE_URL, (databaseUrl) =>
      createMigration(name, { databaseUrl, now: new Date(), ...files }),
    );
    say(written ?? 'Migrations and schema agree: there is nothing to write.');
    return 0;
  }
  process.stderr.write(USAGE);
  return 2;
}

async function deploy(databaseUrl: string | undefined, migrationsDir: string): Promise<number> {
  if (!databaseUrl) throw new Error('DATABASE_URL is not set. It says which database to migrate.');
  const applied = await applyMigrations({ databaseUrl, migrationsDir, log: say });
  if (applied.length === 0) say('The database is up to date.');
  return 0;
}

async function onScratch<T>(serverUrl: string | undefined, work: (databaseUrl: string) => Promise<T>): Promise<T> {
  if (serverUrl) return withScratchDatabase(serverUrl, work);
  // A development dependency, which images do not contain.
  // biome-ignore lint/style/noRestrictedImports: not used by any service
  const { startPostgres } = await import('@corral/testing');
  const server = await startPostgres();
  try {
    return await withScratchDatabase(server.url, work);
  } finally {
    await server.stop();
  }
}

try {
  process.exitCode = await run(process.argv.slice(2), process.env);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
