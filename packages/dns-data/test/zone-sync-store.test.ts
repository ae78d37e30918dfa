import { waitFor } from '@corral/testing';
import { describe, expect, it } from '@jest/globals';
import { actionStore, mirrorStore, type ObserveResult, settlementStore, zoneSyncStore } from '../src/index.js';
import { addOf, begin, bodyOf, keyOf, mirrorFixture, newWrite, writeAccepted, ZONE_ID } from './mirror-database.js';

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
    { zoneId: ZONE_ID, ownerLabel: given.team.slug, root: given.team.slug },
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
      await store.settle(due, { found: bodyOf(given.name, 1), applied: true, at: new Date(), recheckAfterMs: 60_000 });
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

  it('counts after a write that changed nothing', async () => {
    const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(1)));
    await given.ledger.finish(lease, keyOf(given.name), { state: 'refused', status: 409, body: '{}', recheck: false });

    expect(await observe(bodyOf(given.name, 2))).toBe('added');
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
