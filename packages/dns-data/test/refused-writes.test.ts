import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type RefusedWrite, refusedWrites, type WriteLedger } from '../src/index.js';
import {
  addOf,
  begin,
  bodyOf,
  keyOf,
  type MirrorDatabase,
  neverDelivered,
  newWrite,
  openMirrorDatabase,
  type TestTeam,
  writeAccepted,
} from './mirror-database.js';

let database: MirrorDatabase;
let ledger: WriteLedger;
let team: TestTeam;
let name: string;
beforeAll(async () => {
  database = await openMirrorDatabase();
  ledger = database.ledger();
});
afterAll(() => database.close());
beforeEach(async () => {
  team = await database.createTeam();
  name = `api.${team.slug}`;
});

const unsent = { state: 'unsent', code: 'upstream_unavailable' } as const;
const refusal = (changed: Partial<RefusedWrite> = {}): RefusedWrite => ({
  owner: { kind: 'team', id: team.id, teamId: team.id },
  tokenId: team.tokenId,
  key: keyOf(name),
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
  const { rows } = await database.pool.query<Counted & { entries: number; minutes: number }>(
    `SELECT operation, refusal_code AS code, sum(count)::int AS count, count(*)::int AS entries,
            count(DISTINCT minute)::int AS minutes
     FROM dns_audit_entry WHERE team_id = $1 AND state = 'unsent' GROUP BY token_id, name, operation, refusal_code
     ORDER BY operation, refusal_code, min(id)`,
    [team.id],
  );
  return rows.map(({ entries, minutes, ...each }) => {
    expect(entries).toBe(minutes);
    return each;
  });
}

describe('writes refused before they were sent', () => {
  it('are counted in one entry a minute by any number of gateways', async () => {
    const gateways = [1, 2, 3].map(() => refusedWrites(database.pool));

    await Promise.all(Array.from({ length: 60 }, (_, at) => gateways[at % 3]?.count(refusal())));

    expect(await counted()).toEqual([{ operation: 'add_records', code: 'forbidden', count: 60 }]);
  });

  it('are counted separately when token, name, operation or code differ', async () => {
    const refused = refusedWrites(database.pool);
    const other = await database.pool.query(
      `INSERT INTO dns_token (team_id, name, hash, scopes) VALUES ($1, 'other', sha256($2::text::bytea), '{dns}') RETURNING id`,
      [team.id, name],
    );

    for (const changed of [
      {},
      { tokenId: other.rows[0].id },
      { key: keyOf(`b.${name}`) },
      { operation: 'delete' } as const,
      { code: 'resource_limit_exceeded' } as const,
    ]) {
      await refused.count(refusal(changed));
    }

    expect((await counted()).map(({ count }) => count)).toEqual([1, 1, 1, 1, 1]);
  });

  it('start another entry in the next minute', async () => {
    const refused = refusedWrites(database.pool);
    await refused.count(refusal());
    await database.pool.query(`UPDATE dns_audit_entry SET minute = minute - interval '5 minutes' WHERE team_id = $1`, [
      team.id,
    ]);

    await refused.count(refusal());

    expect((await database.pool.query('SELECT FROM dns_audit_entry WHERE team_id = $1', [team.id])).rowCount).toBe(2);
  });

  it('are counted even when the requested name is invalid', async () => {
    await refusedWrites(database.pool).count(
      refusal({ key: { ...keyOf('\u0000'.repeat(20_000)), type: '\ud800'.repeat(99) } }),
    );

    const { rows } = await database.pool.query('SELECT name, type FROM dns_audit_entry WHERE team_id = $1', [team.id]);
    expect(rows).toEqual([{ name: '\ufffd'.repeat(255), type: '\ufffd'.repeat(16) }]);
  });
});

describe('a write that certainly never reached the upstream', () => {
  it('leaves the ledger and is counted once, however often its holder finishes it', async () => {
    const lease = await begin(ledger, newWrite(team, name, addOf(2)));

    expect(await ledger.finish(lease, keyOf(name), unsent)).toBe(true);
    expect(await ledger.finish(lease, keyOf(name), unsent)).toBe(false);

    expect(await database.entry(lease.entryId)).toBeUndefined();
    expect(await counted()).toEqual([{ operation: 'add_records', code: 'upstream_unavailable', count: 1 }]);
  });

  it('is counted with earlier ones and does not block the next write', async () => {
    for (let turn = 0; turn < 5; turn += 1) {
      await ledger.finish(await begin(ledger, newWrite(team, name, addOf(2), `${turn}`)), keyOf(name), unsent);
    }

    expect((await counted()).map(({ count }) => count)).toEqual([5]);
    expect(await ledger.begin(newWrite(team, name, addOf(1)), neverDelivered)).toMatchObject({ kind: 'begun' });
  });

  it('is not counted by a holder that lost its lease', async () => {
    const lease = await begin(ledger, newWrite(team, name, addOf(2)));
    await database.pool.query('UPDATE dns_audit_entry SET lease_fence = lease_fence + 1 WHERE id = $1', [
      lease.entryId,
    ]);

    expect(await ledger.finish(lease, keyOf(name), unsent)).toBe(false);

    expect(await counted()).toEqual([]);
    expect(await database.entry(lease.entryId)).toMatchObject({ state: 'pending' });
  });

  it('does not come between a write and its repetition, since it changed nothing', async () => {
    const first = await writeAccepted(ledger, newWrite(team, name, addOf(1)), bodyOf(name, 1));
    await ledger.finish(await begin(ledger, newWrite(team, name, addOf(1, 9))), keyOf(name), unsent);
    await refusedWrites(database.pool).count(refusal());

    const again = await ledger.begin(newWrite(team, name, addOf(1)), neverDelivered);

    expect(again).toMatchObject({ kind: 'replayed', entryId: first.entryId });
  });
});
