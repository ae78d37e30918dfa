import { readFile } from 'node:fs/promises';
import { connectPool, inTransaction, type Queryable } from '@corral/database';
import { patientPool, waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type MirrorDatabase, openMirrorDatabase, ZONE_ID } from './mirror-database.js';

const migration = new URL(
  '../../../prisma/migrations/20261126015000_dns_rrset_counts_of_before/migration.sql',
  import.meta.url,
);
/** Labels of an owner are added in parts of 2,000 sets. */
const OF_ACME = 4_500;
const OF_GLOBEX = 100;

let database: MirrorDatabase;
let countOlderSets: () => Promise<unknown>;
beforeAll(async () => {
  database = await openMirrorDatabase();
  const sql = await readFile(migration, 'utf8');
  countOlderSets = async () => {
    const pool = connectPool({
      databaseUrl: database.url,
      applicationName: 'migration',
      ...patientPool,
      onIdleError: () => undefined,
    });
    await pool.query(sql).finally(() => pool.end());
  };
});
afterAll(() => database.close());

/** Sets from before there was a trigger that counts them. */
beforeEach(async () => {
  await inTransaction(database.pool, async (tx) => {
    await tx.query('SET LOCAL session_replication_role = replica');
    for (const table of ['dns_rrset', 'dns_rrset_count', 'dns_rrset_label', 'dns_rrset_label_count']) {
      await tx.query(`DELETE FROM ${table}`);
    }
    await tx.query(
      `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body)
       SELECT $1, 's' || n || '.' || owner, CASE WHEN n % 10 = 0 THEN 'TXT' ELSE 'A' END, owner, 1 + n % 3,
              CASE WHEN n % 7 = 0 THEN '{}' ELSE '{"labels":{"env":"' || n % 5 || '","team":"web"}}' END
       FROM (VALUES ('acme', $2::int), ('globex', $3)) AS owners (owner, sets), generate_series(1, sets) AS n`,
      [ZONE_ID, OF_ACME, OF_GLOBEX],
    );
  });
});

const make = (db: Queryable, owner: string, host: string, labels = '{"env":"new"}') =>
  db.query(
    `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body) VALUES ($1, $2, 'A', $3, 1, $4)`,
    [ZONE_ID, `${host}.${owner}`, owner, `{"labels":${labels}}`],
  );
const relabel = (db: Queryable, owner: string, host: string) =>
  db.query(`UPDATE dns_rrset SET body = '{"labels":{"env":"changed"}}' WHERE zone_id = $1 AND name = $2`, [
    ZONE_ID,
    `${host}.${owner}`,
  ]);
const changeValue = (db: Queryable, owner: string, host: string) =>
  db.query(
    `UPDATE dns_rrset SET body = replace(body, '{"labels"', '{"ttl":60,"labels"') WHERE zone_id = $1 AND name = $2`,
    [ZONE_ID, `${host}.${owner}`],
  );
const remove = (db: Queryable, owner: string, host: string) =>
  db.query('DELETE FROM dns_rrset WHERE zone_id = $1 AND name = $2', [ZONE_ID, `${host}.${owner}`]);

const counts = async (): Promise<Record<string, unknown[]>> => {
  const read = async (table: string) =>
    (await database.pool.query(`SELECT * FROM ${table} AS t ORDER BY t::text`)).rows;
  return {
    sets: await read('dns_rrset_count'),
    labels: await read('dns_rrset_label'),
    labelled: await read('dns_rrset_label_count'),
  };
};

const expectRightCounts = async (): Promise<void> => {
  const kept = await counts();
  expect(kept.sets?.length).toBeGreaterThan(0);
  await database.pool.query('SELECT dns_rrset_recount()');
  expect(kept).toEqual(await counts());
};

/** Runs `work` while the migration waits for its turn to count sets of an owner. */
async function whileCountingOf(owner: string, work: (holder: Queryable) => Promise<void>): Promise<void> {
  let counting: Promise<unknown> = Promise.resolve();
  await inTransaction(database.pool, async (holder) => {
    await holder.query('SELECT pg_advisory_xact_lock(hashtextextended($1, $2))', [owner, ZONE_ID]);
    counting = countOlderSets();
    await waitFor('the migration to wait for its turn', async () => {
      const { rows } = await database.pool.query(
        `SELECT pid FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'migration' AND wait_event_type = 'Lock'`,
      );
      return rows.length === 1;
    });
    await work(holder);
  });
  await counting;
}

describe('the migration that counts older record sets', () => {
  it('counts all of them', async () => {
    await countOlderSets();

    await expectRightCounts();
  });

  it('may run again, also where everything was counted before', async () => {
    await database.pool.query('SELECT dns_rrset_recount()');
    await countOlderSets();
    await countOlderSets();

    await expectRightCounts();
  });

  it('counts what was written between the trigger and the count, once', async () => {
    await make(database.pool, 'acme', 'new');
    await relabel(database.pool, 'acme', 's1');
    await remove(database.pool, 'acme', 's2');
    await make(database.pool, 'initech', 'new');
    await countOlderSets();

    await expectRightCounts();
  });

  it('forgets owners whose older sets were all deleted before it came to them', async () => {
    await make(database.pool, 'globex', 'new');
    await database.pool.query(`DELETE FROM dns_rrset WHERE owner_label = 'globex'`);
    await countOlderSets();

    await expectRightCounts();
  });

  it.each([
    ['acme', 'globex'],
    ['globex', 'acme'],
  ])('holds up no writes of others while it counts the sets of %s, and no new values', async (counted, other) => {
    await whileCountingOf(counted, async () => {
      await make(database.pool, other, 'new');
      await remove(database.pool, other, 's1');
      await relabel(database.pool, other, 's2');
      await changeValue(database.pool, counted, 's1');
    });

    await expectRightCounts();
  });

  it('sees what a transaction wrote that it waited for', async () => {
    await whileCountingOf('acme', async (holder) => {
      await make(holder, 'acme', 'new');
      await relabel(holder, 'acme', 's1');
      await remove(holder, 'acme', 's2');
    });

    await expectRightCounts();
  });

  it('is right whatever is written meanwhile', async () => {
    let isDone = false;
    const write = async (owner: string, first: number): Promise<void> => {
      for (let n = first; !isDone; n += 4) {
        await make(database.pool, owner, `new${n}`);
        await relabel(database.pool, owner, `s${n}`);
        await remove(database.pool, owner, `s${n + 1}`);
        if (n % 3 === 0) await remove(database.pool, owner, `new${n}`);
      }
    };
    const writing = [write('acme', 1), write('acme', 3), write('globex', 1)];
    await countOlderSets();
    isDone = true;
    await Promise.all(writing);

    await expectRightCounts();
  });
});
