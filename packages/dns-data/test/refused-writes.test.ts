import { describe, expect, it } from '@jest/globals';
import { type RefusedWrite, refusedWrites } from '../src/index.js';
import {
  addOf,
  begin,
  bodyOf,
  keyOf,
  mirrorFixture,
  neverDelivered,
  newWrite,
  writeAccepted,
} from './mirror-database.js';

const given = mirrorFixture();

const unsent = { state: 'unsent', code: 'upstream_unavailable' } as const;
const refusal = (changed: Partial<RefusedWrite> = {}): RefusedWrite => ({
  owner: { kind: 'team', id: given.team.id, teamId: given.team.id },
  tokenId: given.team.tokenId,
  key: keyOf(given.name),
  operation: 'add_records',
  code: 'forbidden',
  requestId: 'request',
  ...changed,
});

interface Counted {
  readonly operation: string;
  readonly code: string;
  readonly count: number;
}

/** The counts per operation and code. Checks that each minute has one entry. */
async function counted(): Promise<Counted[]> {
  const { rows } = await given.database.pool.query<Counted & { entries: number; minutes: number }>(
    `SELECT operation, refusal_code AS code, sum(count)::int AS count, count(*)::int AS entries,
            count(DISTINCT minute)::int AS minutes
     FROM dns_audit_entry WHERE team_id = $1 AND state = 'unsent' GROUP BY token_id, name, operation, refusal_code
     ORDER BY operation, refusal_code, min(id)`,
    [given.team.id],
  );
  return rows.map(({ entries, minutes, ...each }) => {
    expect(entries).toBe(minutes);
    return each;
  });
}

describe('writes refused before they were sent', () => {
  it('are counted in one entry a minute by any number of gateways', async () => {
    const gateways = [1, 2, 3].map(() => refusedWrites(given.database.prisma));

    await Promise.all(Array.from({ length: 60 }, (_, at) => gateways[at % 3]?.count(refusal())));

    expect(await counted()).toEqual([{ operation: 'add_records', code: 'forbidden', count: 60 }]);
  });

  it('are counted separately when token, name, operation or code differ', async () => {
    const refused = refusedWrites(given.database.prisma);
    const other = await given.database.pool.query(
      `INSERT INTO dns_token (team_id, name, hash, scopes) VALUES ($1, 'other', sha256($2::text::bytea), '{dns}') RETURNING id`,
      [given.team.id, given.name],
    );

    for (const changed of [
      {},
      { tokenId: other.rows[0].id },
      { key: keyOf(`b.${given.name}`) },
      { operation: 'delete' } as const,
      { code: 'resource_limit_exceeded' } as const,
    ]) {
      await refused.count(refusal(changed));
    }

    expect((await counted()).map(({ count }) => count)).toEqual([1, 1, 1, 1, 1]);
  });

  it('start another entry in the next minute', async () => {
    const refused = refusedWrites(given.database.prisma);
    await refused.count(refusal());
    await given.database.pool.query(
      `UPDATE dns_audit_entry SET minute = minute - interval '5 minutes' WHERE team_id = $1`,
      [given.team.id],
    );

    await refused.count(refusal());

    expect(
      (await given.database.pool.query('SELECT FROM dns_audit_entry WHERE team_id = $1', [given.team.id])).rowCount,
    ).toBe(2);
  });

  it('are counted even when the requested name is invalid', async () => {
    await refusedWrites(given.database.prisma).count(
      refusal({ key: { ...keyOf('\u0000'.repeat(20_000)), type: '\ud800'.repeat(99) } }),
    );

    const { rows } = await given.database.pool.query('SELECT name, type FROM dns_audit_entry WHERE team_id = $1', [
      given.team.id,
    ]);
    expect(rows).toEqual([{ name: '\ufffd'.repeat(255), type: '\ufffd'.repeat(16) }]);
  });
});

describe('a write that certainly never reached the upstream', () => {
  it('leaves the ledger and is counted once, however often its holder finishes it', async () => {
    const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(2)));

    expect(await given.ledger.finish(lease, keyOf(given.name), unsent)).toBe(true);
    expect(await given.ledger.finish(lease, keyOf(given.name), unsent)).toBe(false);

    expect(await given.database.entry(lease.entryId)).toBeUndefined();
    expect(await counted()).toEqual([{ operation: 'add_records', code: 'upstream_unavailable', count: 1 }]);
  });

  it('is counted with earlier ones and does not block the next write', async () => {
    for (let turn = 0; turn < 5; turn += 1) {
      await given.ledger.finish(
        await begin(given.ledger, newWrite(given.team, given.name, addOf(2), `${turn}`)),
        keyOf(given.name),
        unsent,
      );
    }

    expect((await counted()).map(({ count }) => count)).toEqual([5]);
    expect(await given.ledger.begin(newWrite(given.team, given.name, addOf(1)), neverDelivered)).toMatchObject({
      kind: 'begun',
    });
  });

  it('is not counted by a holder that lost its lease', async () => {
    const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(2)));
    await given.database.pool.query('UPDATE dns_audit_entry SET lease_fence = lease_fence + 1 WHERE id = $1', [
      lease.entryId,
    ]);

    expect(await given.ledger.finish(lease, keyOf(given.name), unsent)).toBe(false);

    expect(await counted()).toEqual([]);
    expect(await given.database.entry(lease.entryId)).toMatchObject({ state: 'pending' });
  });

  it('does not come between a write and its repetition, since it changed nothing', async () => {
    const first = await writeAccepted(given.ledger, newWrite(given.team, given.name, addOf(1)), bodyOf(given.name, 1));
    await given.ledger.finish(
      await begin(given.ledger, newWrite(given.team, given.name, addOf(1, 9))),
      keyOf(given.name),
      unsent,
    );
    await refusedWrites(given.database.prisma).count(refusal());

    const again = await given.ledger.begin(newWrite(given.team, given.name, addOf(1)), neverDelivered);

    expect(again).toMatchObject({ kind: 'replayed', entryId: first.entryId });
  });
});
