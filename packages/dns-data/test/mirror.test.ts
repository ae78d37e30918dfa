import { waitFor } from '@corral/testing';
import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  actionStore,
  type LabelRequirement,
  mirrorStore,
  type ObserveResult,
  type RrsetScope,
  type RrsetSelection,
  type SortKey,
  settlementStore,
  zoneSyncStore,
} from '../src/index.js';
import { addOf, begin, bodyOf, keyOf, mirrorFixture, newWrite, writeAccepted, ZONE_ID } from './mirror-database.js';

const anySet: RrsetSelection = { name: null, types: [], labels: null, sort: [] };

describe('the mirror', () => {
  const given = mirrorFixture();

  const scopeOf = (slug: string): RrsetScope => ({ zoneId: ZONE_ID, ownerLabel: slug, withinName: null });

  async function addSet(ownerLabel: string, name: string, type: string): Promise<void> {
    await given.database.pool.query(
      `INSERT INTO dns_rrset (zone_id, owner_label, name, type, body, record_count) VALUES ($1, $2, $3, $4, $5, 1)`,
      [ZONE_ID, ownerLabel, name, type, typedBody(name, type)],
    );
  }

  const typedBody = (name: string, type: string): string => bodyOf(name, 1).replace('"type":"A"', `"type":"${type}"`);

  it('finds a set only for its own owner, name and type', async () => {
    const { team } = given;
    const other = await given.database.createTeam();
    await addSet(team.slug, `s0.${team.slug}`, 'A');
    await addSet(team.slug, `s1.${team.slug}`, 'A');
    await addSet(team.slug, `s0.${team.slug}`, 'TXT');
    await addSet(other.slug, `s0.${other.slug}`, 'A');
    const mirror = mirrorStore(given.database.pool);

    const found = await Promise.all([
      mirror.findRrset(scopeOf(team.slug), `s0.${team.slug}`, 'A'),
      mirror.findRrset(scopeOf(team.slug), `s0.${team.slug}`, 'TXT'),
      mirror.findRrset(scopeOf(team.slug), `s1.${team.slug}`, 'TXT'),
      mirror.findRrset(scopeOf(team.slug), `s2.${team.slug}`, 'A'),
      mirror.findRrset(scopeOf(other.slug), `s0.${other.slug}`, 'A'),
      mirror.findRrset({ ...scopeOf(other.slug), withinName: team.slug }, `s0.${team.slug}`, 'A'),
    ]);

    expect(found).toEqual([
      typedBody(`s0.${team.slug}`, 'A'),
      typedBody(`s0.${team.slug}`, 'TXT'),
      null,
      null,
      typedBody(`s0.${other.slug}`, 'A'),
      null,
    ]);
  });

  it('lists and counts below a name only what is below it, on a label boundary', async () => {
    const { slug } = given.team;
    for (const name of ['a.prod', 'prod', 'xprod', 'test']) await addSet(slug, `${name}.${slug}`, 'A');
    const scope = { ...scopeOf(slug), withinName: `prod.${slug}` };
    const mirror = mirrorStore(given.database.pool);

    const page = await mirror.pageRrsets({ scope, selection: anySet, limit: 25, offset: 0 });

    const bodies = [`a.prod.${slug}`, `prod.${slug}`].map((name) => typedBody(name, 'A'));
    expect(page).toEqual({ total: 2, bodies: bodies.join(',') });
    expect(await mirror.countRecords(scope)).toBe(2);
  });

  it('orders sets of the same time by id, so that their pages do not overlap', async () => {
    const { slug } = given.team;
    const names = Array.from({ length: 9 }, (_, at) => `s${at}.${slug}`);
    for (const name of names.toReversed()) await addSet(slug, name, 'A');
    await given.database.pool.query(`UPDATE dns_rrset SET first_seen_at = '2026-11-21' WHERE owner_label = $1`, [slug]);
    const selection = { ...anySet, sort: [{ by: 'created', descending: true }] as const };

    const bodies: string[] = [];
    for (let offset = 0; offset < names.length; offset += 2) {
      const lookUp = { scope: scopeOf(slug), selection, limit: 2, offset };
      bodies.push((await mirrorStore(given.database.pool).pageRrsets(lookUp)).bodies);
    }

    expect(bodies.join(',')).toBe(names.map((name) => typedBody(name, 'A')).join(','));
  });
});

describe('a page of an owner with many sets', () => {
  const SETS = 3_000;
  const OWNER = 'acme';
  const labelled = (...labels: LabelRequirement[]): RrsetSelection => ({ ...anySet, labels });
  const prod = { key: 'env', values: ['prod'], negated: false };
  const sorted = (by: SortKey['by'], descending: boolean): RrsetSelection => ({
    ...anySet,
    sort: [{ by, descending }],
  });

  const given = mirrorFixture();

  /** Every tenth set has the label `env=prod`, three sets have the type `TXT`. One has a comment that Postgres cannot read as text. */
  beforeAll(async () => {
    await given.database.pool.query(
      `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body, first_seen_at)
       SELECT $1, 's' || n || '.' || $2, CASE WHEN n % 1000 = 7 THEN 'TXT' ELSE 'A' END, $2, 1,
              '{"n":' || n || ',"comment":"' || CASE n WHEN 5 THEN '\\u0000\\ud800' ELSE '' END || '","labels":'
                || CASE WHEN n % 10 = 0 THEN '{"env":"prod"}' ELSE '{}' END || '}',
              now() - n * interval '1 s'
       FROM generate_series(0, $3::int - 1) AS n`,
      [ZONE_ID, OWNER, SETS],
    );
  });

  it.each<[string, RrsetSelection, number, number]>([
    ['of all', anySet, SETS, 0],
    ['by name', sorted('name', true), SETS, 999],
    ['of the oldest', sorted('created', false), SETS, SETS - 1],
    ['of a rare type', { ...anySet, types: ['TXT'] }, 3, 1_007],
    ['of two types', { ...anySet, types: ['TXT', 'A'] }, SETS, 0],
    ['of a name', { ...anySet, name: `s7.${OWNER}` }, 1, 7],
    ['of a label', labelled(prod), 300, 0],
    ['of a label with one of two values', labelled({ ...prod, values: ['test', 'prod'] }), 300, 0],
    ['without a label', labelled({ ...prod, negated: true }), SETS - 300, 1],
  ])('%s states how many there are, and has only its own', async (_what, selection, total, first) => {
    const scope = { zoneId: ZONE_ID, ownerLabel: OWNER, withinName: null };

    const page = await mirrorStore(given.database.pool).pageRrsets({ scope, selection, limit: 25, offset: 0 });

    const numbers = (JSON.parse(`[${page.bodies}]`) as { n: number }[]).map(({ n }) => n);
    expect(page.total).toBe(total);
    expect(numbers).toHaveLength(Math.min(25, total));
    expect(numbers[0] ?? Number.NaN).toBe(first);
  });
});

describe('what is read upstream', () => {
  const given = mirrorFixture();

  const GRACE_MS = 30_000;

  /** Observes a set at a time by the database's clock. */
  async function observe(found: string | null, { readAt, purpose }: { readAt?: Date; purpose?: 'import' } = {}) {
    const store = zoneSyncStore(given.database.prisma);
    const read = { key: keyOf(given.name), found, readAt: readAt ?? (await store.readClock()) };
    return (await store.observe(read, { graceMs: GRACE_MS, purpose: purpose ?? 'sync' })).result;
  }

  const mirrored = (): Promise<string | null> =>
    mirrorStore(given.database.pool).findRrset(
      { zoneId: ZONE_ID, ownerLabel: given.team.slug, withinName: null },
      given.name,
      'A',
    );

  async function drift(): Promise<{ found_body: string | null; before_body: string | null; team_id: string }[]> {
    const { rows } = await given.database.pool.query(
      `SELECT found_body, before_body, team_id FROM dns_audit_entry WHERE name = $1 AND actor = 'upstream' ORDER BY id`,
      [given.name],
    );
    return rows;
  }

  const write = () => writeAccepted(given.ledger, newWrite(given.team, given.name, addOf(1)), bodyOf(given.name, 1));

  const completedAgo = (entryId: number, ms: number) =>
    given.database.pool.query(
      'UPDATE dns_audit_entry SET completed_at = completed_at - make_interval(secs => $2::float8 / 1000) WHERE id = $1',
      [entryId, ms],
    );

  describe('a read of a set without concurrent writes', () => {
    it('updates the mirror and records each difference once', async () => {
      const ends: ObserveResult[] = [];
      for (const found of [bodyOf(given.name, 1), bodyOf(given.name, 1), bodyOf(given.name, 2), null, null])
        ends.push(await observe(found));

      expect(ends).toEqual(['added', 'same', 'changed', 'removed', 'same']);
      expect(await drift()).toEqual(
        [bodyOf(given.name, 1), bodyOf(given.name, 2), null].map((found_body, at, bodies) => ({
          found_body,
          before_body: bodies[at - 1] ?? null,
          team_id: given.team.id,
        })),
      );
      expect(await mirrored()).toBeNull();
    });

    it('records no drift for an import or an equivalent body', async () => {
      expect(await observe(bodyOf(given.name, 1), { purpose: 'import' })).toBe('added');
      const restated = `${bodyOf(given.name, 1).slice(0, -1)}, "tomorrow": 1.0}`;
      expect(await observe(restated)).toBe('restated');

      expect(await mirrored()).toBe(restated);
      expect(await drift()).toEqual([]);
    });
  });

  describe('a read that one of our writes may have overtaken', () => {
    it('is skipped while the write is pending, with or without a holder', async () => {
      const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(1)));
      expect(await observe(bodyOf(given.name, 3))).toBe('skipped');
      await given.ledger.release(lease, -1_000, null);
      expect(await observe(bodyOf(given.name, 3))).toBe('skipped');

      expect(await mirrored()).toBeNull();
    });

    it('is skipped when the write ended after the read was sent', async () => {
      const readAt = await zoneSyncStore(given.database.prisma).readClock();
      await write();

      expect(await observe(null, { readAt })).toBe('skipped');
      expect(await mirrored()).toBe(bodyOf(given.name, 1));
    });

    it('is skipped when a settlement ended after the read was sent', async () => {
      const readAt = await zoneSyncStore(given.database.prisma).readClock();
      const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(1)));
      await given.ledger.release(lease, -1_000, null);
      const store = settlementStore(given.database.prisma);
      for (const due of await store.takePending(100, 10_000)) {
        await store.settle(due, {
          found: bodyOf(given.name, 1),
          applied: true,
          at: new Date(),
          recheckAfterMs: 60_000,
        });
      }

      expect(await observe(null, { readAt })).toBe('skipped');
    });

    it("is skipped during the grace period while the write's action runs", async () => {
      const { entryId } = await write();

      expect(await observe(null)).toBe('skipped');
      await completedAgo(entryId, GRACE_MS - 5_000);
      expect(await observe(null)).toBe('skipped');
      await completedAgo(entryId, 6_000);

      expect(await observe(null)).toBe('removed');
    });

    it('counts once the action was seen to have ended before the read', async () => {
      const { id: actionId } = await write();
      const before = await zoneSyncStore(given.database.prisma).readClock();
      await actionStore(given.database.prisma).recordActions([{ id: actionId, status: 'success', body: '{}' }]);

      expect(await observe(null, { readAt: before })).toBe('skipped');
      // Times have millisecond resolution: within the same millisecond the order is unknown.
      await waitFor('the next millisecond', async () => (await observe(null)) === 'removed');
    });
  });

  describe('concurrent writes and reads of one set', () => {
    it('leave the mirror with one of the two, never a mixture, and without a deadlock', async () => {
      for (let round = 0; round < 10; round += 1) {
        const [, seen] = await Promise.all([write(), observe(bodyOf(given.name, 7))]);

        expect(['skipped', 'added', 'changed', 'same']).toContain(seen);
        expect(await mirrored()).toBe(bodyOf(given.name, 1)); // the write ended last, or the read was skipped
        await given.database.pool.query('UPDATE dns_audit_entry SET answered = true WHERE name = $1', [given.name]);
      }
    });
  });
});
