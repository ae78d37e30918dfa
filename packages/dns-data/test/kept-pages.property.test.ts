import type { Queryable, QueryConfig } from '@corral/database';
import { waitFor } from '@corral/testing';
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

const nameOf = ({ slug }: TestTeam, at: number): string => `s${at}.${slug}`;

async function addSet(db: Queryable, team: TestTeam, at: number): Promise<void> {
  const name = nameOf(team, at);
  await db.query(
    `INSERT INTO dns_rrset (zone_id, owner_label, name, type, body, record_count) VALUES ($1, $2, $3, 'A', $4, 1)
     ON CONFLICT DO NOTHING`,
    [ZONE_ID, team.slug, name, bodyOf(name, 1)],
  );
}

/** Keeps the number of records: transactions that change it wait for each other. */
async function changeSet(db: Queryable, team: TestTeam, at: number, ttl: number): Promise<void> {
  await db.query('UPDATE dns_rrset SET body = $1 WHERE zone_id = $2 AND name = $3', [
    JSON.stringify({ ttl }),
    ZONE_ID,
    nameOf(team, at),
  ]);
}

async function deleteSet(db: Queryable, team: TestTeam, at: number): Promise<void> {
  await db.query('DELETE FROM dns_rrset WHERE zone_id = $1 AND name = $2', [ZONE_ID, nameOf(team, at)]);
}

/** Two writers with a transaction each, which change a set each; sets that come and go meanwhile; and what happens in which order. */
type Step =
  | { readonly kind: 'change'; readonly writer: number; readonly ttl: number }
  | { readonly kind: 'end'; readonly writer: number; readonly how: 'COMMIT' | 'ROLLBACK' }
  | { readonly kind: 'add' | 'delete'; readonly at: number }
  | { readonly kind: 'read' };

const writer = fc.nat({ max: 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('change' as const), writer, ttl: fc.nat({ max: 3 }) }),
  fc.record({
    kind: fc.constant('end' as const),
    writer,
    how: fc.constantFrom('COMMIT' as const, 'ROLLBACK' as const),
  }),
  fc.record({ kind: fc.constantFrom('add' as const, 'delete' as const), at: fc.integer({ min: 2, max: 3 }) }),
  { arbitrary: fc.constant({ kind: 'read' as const }), weight: 3 },
);

describe('a kept page', () => {
  it('is what a first read would find, whatever writers do between reads, and in whatever order they commit', async () => {
    const { pool } = given.database;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps) => {
        const team = await given.database.createTeam();
        for (const at of [0, 1]) await addSet(pool, team, at);
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
            } else if (each.kind === 'change') {
              await changeSet(await transactionOf(each.writer), team, each.writer, each.ttl);
            } else {
              await (each.kind === 'add' ? addSet : deleteSet)(pool, team, each.at);
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

  // Transactions of other tests on the same server hold the horizon until they end.
  it('is not sent again while no set of the team changes', async () => {
    const { database, team } = given;
    const other = await database.createTeam();
    const mirror = mirrorStore(database.pool);
    await addSet(database.pool, team, 1);
    await addSet(database.pool, other, 1);

    const isKept = async () => {
      const first = await readOf(mirror, team);
      expect(first.total).toBe(1);
      await changeSet(database.pool, other, 1, performance.now());
      return (await readOf(mirror, team)) === first;
    };

    expect(await waitFor('the page to be kept', isKept)).toBe(true);
  });

  it('shows the change of a transaction that began before the page was read, and committed after a later one', async () => {
    const { database, team } = given;
    const [early, mirror] = [await database.pool.connect(), mirrorStore(database.pool)];
    for (const at of [1, 2]) await addSet(database.pool, team, at);
    await early.query('BEGIN');
    await changeSet(early, team, 1, 1);
    await changeSet(database.pool, team, 2, 2);
    const before = await mirror.pageRrsets(pageOf(team));

    await early.query('COMMIT');
    early.release();

    expect(before.bodies).toContain('{"ttl":2}');
    expect(before.bodies).not.toContain('{"ttl":1}');
    expect((await mirror.pageRrsets(pageOf(team))).bodies).toBe('{"ttl":1},{"ttl":2}');
  });

  it('is not kept for a demo, of whose changes nobody is told', async () => {
    const label = await given.database.createTeam();
    const mirror = mirrorStore(given.database.pool);
    await addSet(given.database.pool, label, 1);
    const first = await mirror.pageRrsets(pageOf(label, null));

    expect(await mirror.pageRrsets(pageOf(label, null))).not.toBe(first);
  });

  it('is read again from a server that has started since, whose transactions may have the same ids', async () => {
    const { team } = given;
    const mirror = mirrorStore(startedOnce(given.database.pool));
    await addSet(given.database.pool, team, 1);
    const first = await readOf(mirror, team);
    const second = await readOf(mirror, team);

    expect(second).toEqual(first);
    expect(second).not.toBe(first);
    const isKept = async () => {
      const before = await readOf(mirror, team);
      return (await readOf(mirror, team)) === before;
    };
    expect(await waitFor('the page to be kept', isKept)).toBe(true);
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
