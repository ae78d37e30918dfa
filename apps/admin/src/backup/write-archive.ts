import { createHash } from 'node:crypto';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { appliedMigrations, type Pool, type Queryable } from '@corral/database';
import { ARCHIVE_VERSION, type LineKind, leftOutTables, type Manifest, type SequenceState } from './archive-format.js';
import { orderTables, type Reference } from './order-tables.js';

const ROWS_PER_FETCH = 500;

export interface Written {
  readonly manifest: Manifest;
  readonly rows: number;
}

/**
 * Writes all tables as one snapshot sees them, while services run.
 *
 * @throws the error of Postgres or of the target, which is then incomplete
 */
export async function writeArchive(pool: Pool, target: Writable): Promise<Written> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await client.query("SET LOCAL bytea_output = 'hex'");
    const manifest = await readManifest(client);
    const counted = { rows: 0 };
    await pipeline(Readable.from(linesOf(client, manifest, counted)), createGzip(), target);
    await client.query('COMMIT');
    client.release();
    return { manifest, rows: counted.rows };
  } catch (error) {
    client.release(true);
    throw error;
  }
}

async function readManifest(tx: Queryable): Promise<Manifest> {
  const { rows: times } = await tx.query<{ now: Date }>('SELECT now()');
  const migrations = await appliedMigrations(tx);
  const { rows: sequences } = await tx.query<SequenceState>(
    `SELECT sequencename AS name, data_type::text AS type, last_value AS last FROM pg_sequences
     WHERE schemaname = 'public' ORDER BY sequencename`,
  );
  const { rows: found } = await tx.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
  );
  const { rows: references } = await tx.query<Reference>(
    `SELECT source.relname AS from, target.relname AS to FROM pg_constraint
     JOIN pg_class source ON source.oid = conrelid JOIN pg_class target ON target.oid = confrelid
     WHERE contype = 'f' AND connamespace = 'public'::regnamespace`,
  );
  const tables = found.map(({ name }) => name).filter((name) => !leftOutTables.includes(name));
  const takenAt = (times[0] as { now: Date }).now.toISOString();
  const ordered = orderTables(tables, references);
  return { version: ARCHIVE_VERSION, takenAt, migrations, sequences, tables: ordered, leftOut: leftOutTables };
}

const line = (kind: LineKind, value: unknown): string => `${kind}${JSON.stringify(value)}\n`;

async function* linesOf(tx: Queryable, manifest: Manifest, counted: { rows: number }): AsyncGenerator<string> {
  yield line('M', manifest);
  for (const table of manifest.tables) {
    yield* linesOfTable(tx, table, counted);
  }
  yield line('C', { tables: manifest.tables.length });
}

async function* linesOfTable(tx: Queryable, table: string, counted: { rows: number }): AsyncGenerator<string> {
  const { rows: columns } = await tx.query<{ name: string }>(
    `SELECT attname AS name FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [`public.${table}`],
  );
  yield line('T', { table, columns: columns.map(({ name }) => name) });
  const sum = createHash('sha256');
  let rows = 0;
  await tx.query(
    `DECLARE backup_rows NO SCROLL CURSOR FOR SELECT row_to_json(each)::text AS row FROM public.${table} each`,
  );
  for (;;) {
    const page = await tx.query<{ row: string }>(`FETCH ${ROWS_PER_FETCH} FROM backup_rows`);
    if (page.rows.length === 0) break;
    const text = page.rows.map(({ row }) => `R${row}\n`).join('');
    sum.update(text);
    rows += page.rows.length;
    yield text;
  }
  await tx.query('CLOSE backup_rows');
  counted.rows += rows;
  yield line('E', { rows, sha256: sum.digest('hex') });
}
