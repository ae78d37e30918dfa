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

  it.each<[string, string, readonly unknown[]]>([
    ['a new table is harmless', 'CREATE TABLE cluster (id INT PRIMARY KEY, name TEXT NOT NULL UNIQUE)', []],
    ['a new column with a default is harmless', "ALTER TABLE team ADD COLUMN region TEXT NOT NULL DEFAULT 'x'", []],
    ['a rule of new columns alone is harmless', 'ALTER TABLE team ADD COLUMN size INT CHECK (size > 0)', []],
    ['a rule less is harmless', 'ALTER TABLE token DROP CONSTRAINT token_positive', []],
    ['a removed table breaks neighbours', 'DROP TABLE token', ['token is gone']],
    ['a renamed column breaks them', 'ALTER TABLE team RENAME note TO remark', ['team.note is gone']],
    [
      'another type does',
      'ALTER TABLE team ALTER COLUMN note TYPE VARCHAR',
      [expect.stringMatching(/note was text and is/)],
    ],
    [
      'a value that is required does',
      'ALTER TABLE team ALTER COLUMN note SET NOT NULL',
      [expect.stringMatching(/note may not be null/)],
    ],
    [
      'a required column does',
      'ALTER TABLE team ADD COLUMN region TEXT NOT NULL',
      [expect.stringMatching(/region is required and has no default/)],
    ],
    [
      'a new rule does',
      "ALTER TABLE team ADD CONSTRAINT named CHECK (name <> '') NOT VALID",
      [expect.stringMatching(/named requires CHECK/)],
    ],
    [
      'a unique index does',
      'CREATE UNIQUE INDEX team_name ON team (name)',
      [expect.stringMatching(/team_name requires CREATE UNIQUE INDEX/)],
    ],
  ])('%s', async (_what, sql, expected) => {
    expect(await changesOf(sql)).toEqual(expected);
  });

  async function changesOf(sql: string): Promise<string[]> {
    const before = await readSchemaShape(client);
    await client.query(sql);
    return breakingChanges(before, await readSchemaShape(client));
  }
});
