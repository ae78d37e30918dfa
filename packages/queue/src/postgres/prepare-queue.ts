import { assertSchemaCompatibility, LATEST_SCHEMA_VERSION, runMigrations, SchemaMigrationRequiredError } from 'bullmq';
import pg from 'pg';
import { jobRules } from '../jobs.js';
import { CONNECT_MS, ErrorTolerantClient, queueSchema } from './shared-connection.js';

/**
 * Creates or migrates the schema of the queue in Postgres unless it is up to date, which only the owner of the schema may do. A
 * service whose role is not the owner needs the schema to be there: `admin migrate` prepares it.
 */
export async function prepareQueue({ databaseUrl }: { readonly databaseUrl: string }): Promise<void> {
  const client = new ErrorTolerantClient({
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: 10_000,
    application_name: 'corral-queue',
  });
  try {
    await client.connect();
    const version = await assertSchemaCompatibility(client, queueSchema).catch((error: unknown) => {
      if (error instanceof SchemaMigrationRequiredError) return 0;
      throw error;
    });
    if (version < LATEST_SCHEMA_VERSION) await runMigrations(client, queueSchema);
    await createJobNumbers(client);
    await leaveOutEvents(client);
  } finally {
    await client.end();
  }
}

/** BullMQ creates the sequence of a queue with its first job, which a role without rights on the schema cannot. */
async function createJobNumbers(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT name FROM (SELECT ${queueSchema}.job_id_seq_name(queue) AS name FROM unnest($1::text[]) AS queue) AS wanted
     WHERE to_regclass('${queueSchema}.' || quote_ident(name)) IS NULL`,
    [[...new Set(Object.values(jobRules).map(({ queue }) => queue))]],
  );
  if (rows.length === 0) return;
  const statements = rows.map(
    ({ name }) => `CREATE SEQUENCE IF NOT EXISTS ${queueSchema}.${pg.escapeIdentifier(name)}`,
  );
  try {
    await client.query(statements.join(';'));
  } catch (error) {
    // Another process creates them at the same time, which `IF NOT EXISTS` does not cover.
    if ((error as { code?: string }).code !== UNIQUE_VIOLATION) throw error;
    await createJobNumbers(client);
  }
}

const UNIQUE_VIOLATION = '23505';

const NO_EVENT = 'SELECT NULL::bigint';
/** Whether BullMQ writes events, and this role may change that. */
const writesEvents = `EXISTS (
  SELECT FROM pg_proc WHERE oid = to_regprocedure('${queueSchema}.publish_event(text, text, jsonb)')
  AND prosrc <> '${NO_EVENT}' AND pg_has_role(proowner, 'USAGE'))`;

/**
 * BullMQ writes an event with a notification for each of the five steps of a job, and deletes old ones. Nobody here reads them,
 * and they took more time than all else. A migration of BullMQ may bring them back, so this is repeated after it.
 */
async function leaveOutEvents(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ found: boolean }>(`SELECT ${writesEvents} AS found`);
  if (rows[0]?.found !== true) return;
  await client.query(`DO $leave_out$ BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('corral queue events'));
    IF ${writesEvents} THEN
      CREATE OR REPLACE FUNCTION ${queueSchema}.publish_event(p_queue text, p_event text, p_data jsonb) RETURNS bigint
      LANGUAGE sql IMMUTABLE AS '${NO_EVENT}';
      DELETE FROM ${queueSchema}.event;
    END IF;
  END $leave_out$`);
}
