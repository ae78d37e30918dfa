import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createEmptyDatabase, type TestDatabase } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { breakingChanges, readSchemaShape } from './schema-shape.js';

const migrationsDir = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url));
/** The newest migration of the last release. Services of that release run beside those of the next one. */
const LAST_RELEASED = '20261101000000_baseline';
/** `-- contract: unused since 0.2.0: why`, or `-- widens: table.rule` for a constraint that accepts more than before. */
const contractMark = /^-- contract: unused since \d+\.\d+\.\d+: \S/m;
const widensMark = /^-- widens: (\S+)$/gm;

let client: pg.Client;
/** A database for the tests of a block. */
function useDatabase(): void {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createEmptyDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });
}

describe('the migrations since the last release', () => {
  useDatabase();

  it('keep what services of the release before rely on, unless they say since when it is unused', async () => {
    const names = (await readdir(migrationsDir)).filter((name) => /^\d/.test(name)).sort();
    expect(names).toContain(LAST_RELEASED);
    const read = (name: string): Promise<string> => readFile(join(migrationsDir, name, 'migration.sql'), 'utf8');
    for (const name of names.filter((name) => name <= LAST_RELEASED)) await client.query(await read(name));

    const found: string[] = [];
    for (const name of names.filter((name) => name > LAST_RELEASED)) {
      const sql = await read(name);
      const before = await readSchemaShape(client);
      await client.query(sql);
      if (contractMark.test(sql)) continue;
      const widened = [...sql.matchAll(widensMark)].map((match) => `${match[1]} requires `);
      for (const change of breakingChanges(before, await readSchemaShape(client))) {
        if (!widened.some((start) => change.startsWith(start))) found.push(`${name}: ${change}`);
      }
    }

    expect(found).toEqual([]);
  });
});

describe('a change of the schema', () => {
  useDatabase();
  beforeEach(async () => {
    await client.query(`BEGIN; CREATE TABLE team (id INT PRIMARY KEY, name TEXT NOT NULL, note TEXT);
      CREATE TABLE token (id INT PRIMARY KEY, team_id INT REFERENCES team (id), CONSTRAINT token_positive CHECK (id > 0))`);
  });
  afterEach(() => client.query('ROLLBACK'));

  it.each<[string, string, readonly string[]]>([
    ['a new table', 'CREATE TABLE cluster (id INT PRIMARY KEY, name TEXT NOT NULL UNIQUE)', []],
    ['a new column that may be null', 'ALTER TABLE team ADD COLUMN region TEXT', []],
    ['a new column with a default', "ALTER TABLE team ADD COLUMN region TEXT NOT NULL DEFAULT 'x'", []],
    ['a rule of new columns alone', 'ALTER TABLE team ADD COLUMN size INT CHECK (size > 0)', []],
    ['an index', 'CREATE INDEX team_by_name ON team (name)', []],
    ['a column that may be null now', 'ALTER TABLE team ALTER COLUMN name DROP NOT NULL', []],
    ['a rule less', 'ALTER TABLE token DROP CONSTRAINT token_positive', []],
  ])('is harmless as %s', async (_what, sql, expected) => {
    expect(await changesOf(sql)).toEqual(expected);
  });

  it.each<[string, string, readonly unknown[]]>([
    ['a removed table', 'DROP TABLE token', ['token is gone']],
    ['a removed column', 'ALTER TABLE team DROP COLUMN note', ['team.note is gone']],
    ['a renamed column', 'ALTER TABLE team RENAME note TO remark', ['team.note is gone']],
    [
      'another type',
      'ALTER TABLE token ALTER COLUMN id TYPE TEXT USING id::text',
      [expect.stringMatching(/token\.id was integer and is text/)],
    ],
    [
      'a value that is required now',
      'ALTER TABLE team ALTER COLUMN note SET NOT NULL',
      [expect.stringMatching(/team\.note may not be null any more/)],
    ],
    [
      'a required column without a default',
      'ALTER TABLE team ADD COLUMN region TEXT NOT NULL',
      [expect.stringMatching(/team\.region is required and has no default/)],
    ],
    [
      'a new rule, also one that old rows need not fulfil',
      "ALTER TABLE team ADD CONSTRAINT named CHECK (name <> '') NOT VALID",
      [expect.stringMatching(/team\.named requires CHECK/)],
    ],
    [
      'a rule that changes',
      'ALTER TABLE token DROP CONSTRAINT token_positive; ALTER TABLE token ADD CONSTRAINT token_positive CHECK (id > 9)',
      [expect.stringMatching(/token\.token_positive requires CHECK/)],
    ],
    [
      'a unique index',
      'CREATE UNIQUE INDEX team_name ON team (name) WHERE note IS NULL',
      [expect.stringMatching(/team\.team_name requires CREATE UNIQUE INDEX/)],
    ],
  ])('breaks neighbours as %s', async (_what, sql, expected) => {
    const prepared = sql.includes('TYPE TEXT') ? `ALTER TABLE token DROP CONSTRAINT token_positive; ${sql}` : sql;

    expect(await changesOf(prepared)).toEqual(expected);
  });

  async function changesOf(sql: string): Promise<string[]> {
    const before = await readSchemaShape(client);
    await client.query(sql);
    return breakingChanges(before, await readSchemaShape(client));
  }
});
