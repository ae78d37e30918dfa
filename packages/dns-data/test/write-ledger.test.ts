import { describe, expect, it } from '@jest/globals';
import { mirrorStore } from '../src/index.js';
import {
  accepted,
  addOf,
  begin,
  bodyOf,
  keyOf,
  mirrorFixture,
  neverDelivered,
  newWrite,
  writeAccepted,
  ZONE_ID,
} from './mirror-database.js';

const given = mirrorFixture();

const mirrored = (): Promise<string | null> =>
  mirrorStore(given.database.pool).findRrset(
    { zoneId: ZONE_ID, ownerLabel: given.team.slug, root: given.team.slug },
    given.name,
    'A',
  );

describe('beginning a write', () => {
  it('records it as pending with its lease and reservation before anything is sent', async () => {
    const { entryId, fence, current } = await begin(given.ledger, newWrite(given.team, given.name, addOf(3)));

    const entry = await given.database.entry(entryId);
    expect({ fence, current }).toEqual({ fence: 1, current: null });
    expect(entry).toMatchObject({ state: 'pending', reserved_records: 3, upstream_status: null, completed_at: null });
    expect(entry.lease_until?.getTime()).toBeGreaterThan(Date.now() + 15_000);
  });

  it('returns the set as the mirror has it', async () => {
    await writeAccepted(given.ledger, newWrite(given.team, given.name, addOf(1)), bodyOf(given.name, 1));

    const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(1, 9)));

    expect(lease.current).toBe(bodyOf(given.name, 1));
  });

  it('reports busy while another write to the set is pending, and whether it is identical', async () => {
    await begin(given.ledger, newWrite(given.team, given.name, addOf(1)));

    expect(await given.ledger.begin(newWrite(given.team, given.name, addOf(1)), neverDelivered)).toEqual({
      kind: 'busy',
      entryId: expect.any(Number),
      identical: true,
      isDue: false,
    });
    expect(await given.ledger.begin(newWrite(given.team, given.name, addOf(2)), neverDelivered)).toEqual({
      kind: 'busy',
      entryId: expect.any(Number),
      identical: false,
      isDue: false,
    });
    expect(await given.ledger.begin(newWrite(given.team, `b.${given.name}`, addOf(1)), neverDelivered)).toMatchObject({
      kind: 'begun',
    });
  });

  it('succeeds for one of many concurrent attempts', async () => {
    const tries = Array.from({ length: 12 }, (_, at) =>
      given.ledger.begin(newWrite(given.team, given.name, addOf(1, at)), neverDelivered),
    );

    const kinds = (await Promise.all(tries)).map((outcome) => outcome.kind);

    expect(kinds.filter((kind) => kind === 'begun')).toHaveLength(1);
    expect(kinds.filter((kind) => kind === 'busy')).toHaveLength(11);
  });

  it('cannot create a second pending entry for a set even in raw SQL', async () => {
    const { entryId } = await begin(given.ledger, newWrite(given.team, given.name, addOf(1)));
    const again = `INSERT INTO dns_audit_entry (team_id, actor, zone_id, name, type, operation, lease_until, token_id, state)
                   SELECT team_id, actor, zone_id, name, type, operation, lease_until, token_id, $2 FROM dns_audit_entry WHERE id = $1`;

    await expect(given.database.pool.query(again, [entryId, 'pending'])).rejects.toMatchObject({ code: '23505' });
    await given.database.pool.query(again, [entryId, 'refused']);
  });
});

describe('ending a write', () => {
  it('as accepted updates entry, mirror and action together and releases the reservation', async () => {
    const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(2)));
    const end = accepted(bodyOf(given.name, 2));

    expect(await given.ledger.finish(lease, keyOf(given.name), end)).toBe(true);

    expect(await given.database.entry(lease.entryId)).toMatchObject({
      state: 'completed',
      reserved_records: 0,
      lease_until: null,
      recheck_at: null,
      upstream_status: 201,
      upstream_body: end.body,
      completed_at: expect.any(Date),
    });
    expect(await mirrored()).toBe(bodyOf(given.name, 2));
    const actions = await given.database.pool.query(
      'SELECT id, status, body FROM dns_action WHERE audit_entry_id = $1',
      [lease.entryId],
    );
    expect(actions.rows).toEqual([end.action]);
  });

  it('as accepted with the set gone deletes it from the mirror', async () => {
    await writeAccepted(given.ledger, newWrite(given.team, given.name, addOf(1)), bodyOf(given.name, 1));

    await writeAccepted(given.ledger, newWrite(given.team, given.name, { operation: 'delete' }), null);

    expect(await mirrored()).toBeNull();
  });

  it('records the set before and after each accepted write, and before each refused one', async () => {
    const [one, two] = [bodyOf(given.name, 1), bodyOf(given.name, 2)];
    await writeAccepted(given.ledger, newWrite(given.team, given.name, addOf(1)), one);
    await writeAccepted(given.ledger, newWrite(given.team, given.name, addOf(1, 2)), two);
    const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(1, 3)));
    await given.ledger.finish(lease, keyOf(given.name), { state: 'refused', status: 409, body: '{}', recheck: false });
    await writeAccepted(given.ledger, newWrite(given.team, given.name, { operation: 'delete' }), null);

    const { rows } = await given.database.pool.query(
      'SELECT before_body, after_body FROM dns_audit_entry WHERE name = $1 ORDER BY id',
      [given.name],
    );
    expect(rows).toEqual([
      { before_body: null, after_body: one },
      { before_body: one, after_body: two },
      { before_body: two, after_body: null },
      { before_body: two, after_body: null },
    ]);
  });

  it('as refused changes only the entry and releases the reservation', async () => {
    const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(2)));
    const end = { state: 'refused', status: 409, body: '{"error":{}}', recheck: false } as const;

    expect(await given.ledger.finish(lease, keyOf(given.name), end)).toBe(true);

    const entry = await given.database.entry(lease.entryId);
    expect(entry).toMatchObject({ state: 'refused', reserved_records: 0, upstream_status: 409 });
    expect(await mirrored()).toBeNull();
  });

  it('with an answer that contradicts the mirror schedules a recheck', async () => {
    const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(2)));

    await given.ledger.finish(lease, keyOf(given.name), { state: 'refused', status: 404, body: '{}', recheck: true });

    expect((await given.database.entry(lease.entryId)).recheck_at).toBeInstanceOf(Date);
  });

  it('without a known outcome keeps it pending and reserved, and due for settlement', async () => {
    const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(2)));

    await given.ledger.release(lease, 500, { status: 500, body: '{"error":{}}' });

    const entry = await given.database.entry(lease.entryId);
    expect(entry).toMatchObject({ state: 'pending', reserved_records: 2, upstream_status: 500 });
    expect(entry.lease_until?.getTime()).toBeLessThan(Date.now() + 1_000);
    expect(await given.ledger.begin(newWrite(given.team, given.name, addOf(9)), neverDelivered)).toMatchObject({
      kind: 'busy',
    });
  });
});

describe('a holder that lost its lease', () => {
  const takeOver = (entryId: number) =>
    given.database.pool.query('UPDATE dns_audit_entry SET lease_fence = lease_fence + 1 WHERE id = $1', [entryId]);

  it('changes nothing when it finishes its write late', async () => {
    const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(2)));
    await takeOver(lease.entryId);
    const before = await given.database.entry(lease.entryId);

    expect(await given.ledger.finish(lease, keyOf(given.name), accepted(bodyOf(given.name, 2)))).toBe(false);

    expect(await given.database.entry(lease.entryId)).toEqual(before);
    expect(await mirrored()).toBeNull();
    const { rowCount } = await given.database.pool.query('SELECT FROM dns_action WHERE team_id = $1', [given.team.id]);
    expect(rowCount).toBe(0);
  });

  it('changes nothing when it releases its write late', async () => {
    const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(2)));
    await takeOver(lease.entryId);
    const before = await given.database.entry(lease.entryId);

    await given.ledger.release(lease, 0, { status: 500, body: '{}' });

    expect(await given.database.entry(lease.entryId)).toEqual(before);
  });

  it('finishes its write once, however often it tries', async () => {
    const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(2)));

    expect(await given.ledger.finish(lease, keyOf(given.name), accepted(bodyOf(given.name, 2)))).toBe(true);
    expect(await given.ledger.finish(lease, keyOf(given.name), { state: 'unsent', code: 'upstream_unavailable' })).toBe(
      false,
    );

    expect(await given.database.entry(lease.entryId)).toMatchObject({ state: 'completed' });
  });
});
