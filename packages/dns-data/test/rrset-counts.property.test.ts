import { inTransaction, type Queryable } from '@corral/database';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type MirrorDatabase, openMirrorDatabase, ZONE_ID } from './mirror-database.js';

let database: MirrorDatabase;
beforeAll(async () => {
  database = await openMirrorDatabase();
});
afterAll(() => database.close());

interface Given {
  readonly owner: string;
  readonly host: string;
  readonly type: string;
  readonly records: number;
  /** JSON text of the labels, undefined for a body without them. */
  readonly labels: string | undefined;
}

const put = async (db: Queryable, { owner, host, type, records, labels }: Given): Promise<void> => {
  const body = `{"records":[]${labels === undefined ? '' : `,"labels":${labels}`}}`;
  await db.query(
    `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (zone_id, name, type) DO UPDATE SET record_count = excluded.record_count, body = excluded.body`,
    [ZONE_ID, `${host}.${owner}`, type, owner, records, body],
  );
};

const remove = async (db: Queryable, { owner, host, type }: Given): Promise<void> => {
  await db.query('DELETE FROM dns_rrset WHERE zone_id = $1 AND name = $2 AND type = $3', [
    ZONE_ID,
    `${host}.${owner}`,
    type,
  ]);
};

const counts = async (): Promise<unknown> => {
  const read = async (table: string) =>
    (await database.pool.query(`SELECT * FROM ${table} AS t ORDER BY t::text`)).rows;
  return {
    sets: await read('dns_rrset_count'),
    labels: await read('dns_rrset_label'),
    labelled: await read('dns_rrset_label_count'),
  };
};

const recounted = async (): Promise<unknown> => {
  await database.pool.query('SELECT dns_rrset_recount()');
  return counts();
};

/** As the upstream sends them, and as it should not. */
const labels = fc.constantFrom(
  undefined,
  '{}',
  '{"env":"prod"}',
  '{"env":"test","team":"web"}',
  '{"env":"","env":"prod"}',
  '{"env": "pr\\u006fd"}',
  '{"n":1,"none":null,"deep":{"a":[1]}}',
  '{"nul":"\\u0000","half":"\\ud800","\\\\u0000":"x"}',
  'null',
  '["env"]',
);
const given: fc.Arbitrary<Given> = fc.record({
  owner: fc.constantFrom('acme', 'globex'),
  host: fc.constantFrom('a', 'b', 'c'),
  type: fc.constantFrom('A', 'TXT'),
  records: fc.integer({ min: 1, max: 3 }),
  labels,
});
const step = fc.tuple(fc.boolean(), given);

it('counts that triggers keep are those of a new count, whatever is written in any order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      await database.pool.query('DELETE FROM dns_rrset');
      expect(await counts()).toEqual({ sets: [], labels: [], labelled: [] });
      for (const [isPut, set] of steps) await (isPut ? put : remove)(database.pool, set);

      const kept = await counts();

      expect(kept).toEqual(await recounted());
    }),
    { numRuns: 60 },
  );
});

it('counts of sets that many transactions write at the same time are right, and none waits for another in a circle', async () => {
  const all = Array.from(
    { length: 48 },
    (_, at): Given => ({
      owner: 'acme',
      host: `h${at}`,
      type: at % 2 === 0 ? 'A' : 'TXT',
      records: 1,
      labels: at % 3 === 0 ? '{"env":"prod","team":"web"}' : '{"team":"web"}',
    }),
  );
  const pairs = all.slice(0, 24).map((set, at) => [set, all.at(-1 - at) as Given]);

  await Promise.all(
    pairs.map((sets) =>
      inTransaction(database.pool, async (tx) => {
        for (const set of sets) await put(tx, set);
      }),
    ),
  );
  await Promise.all(all.filter((_, at) => at % 4 === 0).map((set) => remove(database.pool, set)));

  expect(await counts()).toEqual(await recounted());
});
