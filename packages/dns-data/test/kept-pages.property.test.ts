import type { Queryable, QueryConfig } from '@corral/database';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type MirrorStore, mirrorStore, type PageLookUp } from '../src/index.js';
import { bodyOf, mirrorFixture, type TestTeam, ZONE_ID } from './mirror-database.js';

const given = mirrorFixture();

const pageOf = ({ slug, id }: TestTeam, teamId: string | null = id): PageLookUp => ({
  scope: { zoneId: ZONE_ID, ownerLabel: slug, root: slug },
  teamId,
  selection: { name: null, types: [], labels: null, sort: [] },
  limit: 25,
  offset: 0,
});

async function putSet(db: Queryable, { slug }: TestTeam, at: string | number, records: number): Promise<void> {
  const name = `s${at}.${slug}`;
  await db.query(
    `INSERT INTO dns_rrset (zone_id, owner_label, name, type, body, record_count) VALUES ($1, $2, $3, 'A', $4, $5)
     ON CONFLICT (zone_id, name, type) DO UPDATE SET body = excluded.body, record_count = excluded.record_count`,
    [ZONE_ID, slug, name, bodyOf(name, records), records],
  );
}

async function deleteSet(db: Queryable, { slug }: TestTeam, at: string | number): Promise<void> {
  await db.query('DELETE FROM dns_rrset WHERE zone_id = $1 AND name = $2', [ZONE_ID, `s${at}.${slug}`]);
}

/** Two writers with a transaction each, which write different sets, and what happens in which order. */
type Step =
  | { readonly kind: 'put'; readonly writer: number; readonly at: number; readonly records: number }
  | { readonly kind: 'delete'; readonly writer: number; readonly at: number }
  | { readonly kind: 'end'; readonly writer: number; readonly how: 'COMMIT' | 'ROLLBACK' }
  | { readonly kind: 'read' };

const writer = fc.nat({ max: 1 });
const at = fc.nat({ max: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), writer, at, records: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constant('delete' as const), writer, at }),
  fc.record({
    kind: fc.constant('end' as const),
    writer,
    how: fc.constantFrom('COMMIT' as const, 'ROLLBACK' as const),
  }),
  { arbitrary: fc.constant({ kind: 'read' as const }), weight: 3 },
);

describe('a kept page', () => {
  it('is what a first read would find, whatever writers do between reads, and in whatever order they commit', async () => {
    const { pool } = given.database;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps) => {
        const team = await given.database.createTeam();
        const replicas = [mirrorStore(pool), mirrorStore(pool)];
        const writers = await Promise.all([pool.connect(), pool.connect()]);
        const isOpen = [false, false];
        const transactionOf = async (of: number) => {
          const connection = writers[of] as (typeof writers)[number];
          if (!isOpen[of]) await connection.query('BEGIN');
          isOpen[of] = true;
          return connection;
        };
        try {
          for (const each of steps) {
            if (each.kind === 'read') {
              const found = await mirrorStore(pool).pageRrsets(pageOf(team));
              for (const replica of replicas) expect(await replica.pageRrsets(pageOf(team))).toEqual(found);
            } else if (each.kind === 'end') {
              await writers[each.writer]?.query(each.how);
              isOpen[each.writer] = false;
            } else {
              const transaction = await transactionOf(each.writer);
              const place = `${each.writer}-${each.at}`;
              if (each.kind === 'put') await putSet(transaction, team, place, each.records);
              else await deleteSet(transaction, team, place);
            }
          }
        } finally {
          for (const connection of writers) {
            await connection.query('ROLLBACK');
            connection.release();
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it('is not sent again while no set of the team changes', async () => {
    const { team } = given;
    const other = await given.database.createTeam();
    const mirror = mirrorStore(given.database.pool);
    await putSet(given.database.pool, team, 1, 1);
    const first = await mirror.pageRrsets(pageOf(team));

    await putSet(given.database.pool, other, 1, 1);

    expect(first.total).toBe(1);
    expect(await mirror.pageRrsets(pageOf(team))).toBe(first);
  });

  it('shows the change of a transaction that began before the page was read, and committed after a later one', async () => {
    const { database, team } = given;
    const [early, mirror] = [await database.pool.connect(), mirrorStore(database.pool)];
    await early.query('BEGIN');
    await putSet(early, team, 1, 1);
    await putSet(database.pool, team, 2, 1);
    const before = await mirror.pageRrsets(pageOf(team));

    await early.query('COMMIT');
    early.release();

    expect(before.total).toBe(1);
    expect((await mirror.pageRrsets(pageOf(team))).total).toBe(2);
  });

  it('is not kept for a demo, of whose changes nobody is told', async () => {
    const label = await given.database.createTeam();
    const mirror = mirrorStore(given.database.pool);
    await putSet(given.database.pool, label, 1, 1);
    const first = await mirror.pageRrsets(pageOf(label, null));

    expect(await mirror.pageRrsets(pageOf(label, null))).not.toBe(first);
  });

  it('is read again from a server that has started since, whose transactions may have the same ids', async () => {
    const { team } = given;
    const mirror = mirrorStore(startedOnce(given.database.pool));
    await putSet(given.database.pool, team, 1, 1);
    const first = await readOf(mirror, team);
    const second = await readOf(mirror, team);

    expect(second).toEqual(first);
    expect(second).not.toBe(first);
    expect(await readOf(mirror, team)).toBe(second);
  });
});

const readOf = (mirror: MirrorStore, team: TestTeam) => mirror.pageRrsets(pageOf(team));

/** A database whose first answer seems to come from a server that started at another time. */
function startedOnce(db: Queryable): Queryable {
  let isFirst = true;
  const query = async (statement: QueryConfig) => {
    const answer = await db.query<{ server: string }>(statement);
    if (isFirst) for (const row of answer.rows) row.server = '0';
    isFirst = false;
    return answer;
  };
  return { query } as unknown as Queryable;
}
