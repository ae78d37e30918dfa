import { describe, expect, it } from '@jest/globals';
import {
  accepted,
  addOf,
  begin,
  bodyOf,
  keyOf,
  mirrorFixture,
  neverDelivered,
  newWrite,
  type TestTeam,
  writeAccepted,
} from './mirror-database.js';

const given = mirrorFixture();

async function holding(team: TestTeam, count: number): Promise<void> {
  for (let left = count, at = 0; left > 0; left -= 50, at += 1) {
    const name = `held${at}.${team.slug}`;
    const size = Math.min(left, 50);
    await writeAccepted(given.ledger, newWrite(team, name, addOf(size)), bodyOf(name, size));
  }
}

async function recordsOfTeam(team: TestTeam): Promise<number> {
  const { rows } = await given.database.pool.query<{ records: number }>(
    'SELECT coalesce(sum(record_count), 0)::int AS records FROM dns_rrset WHERE owner_label = $1',
    [team.slug],
  );
  return rows[0]?.records ?? -1;
}

describe('the records of a team', () => {
  it('reach 200 and never exceed it with 64 concurrent writes from 190', async () => {
    const team = await given.database.createTeam('crowded');
    await holding(team, 190);

    const ends = await Promise.all(
      Array.from({ length: 64 }, async (_, at) => {
        const name = `n${at}.${team.slug}`;
        const outcome = await given.ledger.begin(newWrite(team, name, addOf(1)), neverDelivered);
        if (outcome.kind === 'begun') await given.ledger.finish(outcome.lease, keyOf(name), accepted(bodyOf(name, 1)));
        return outcome;
      }),
    );

    expect(ends.filter(({ kind }) => kind === 'begun')).toHaveLength(10);
    const refused = ends.filter(({ kind }) => kind !== 'begun');
    expect(new Set(refused.map((end) => JSON.stringify(end)))).toEqual(
      new Set(['{"kind":"refused","limit":"recordsPerTeam","max":200,"reservedByActions":false}']),
    );
    expect(await recordsOfTeam(team)).toBe(200);
  });

  it('are counted against the quota of the team, if it has one', async () => {
    const team = await given.database.createTeam('generous');
    const setQuota = (max: number | null) =>
      given.database.pool.query('UPDATE team SET dns_records_max = $2 WHERE slug = $1', [team.slug, max]);
    const beginOne = async () => {
      const outcome = await given.ledger.begin(newWrite(team, `more.${team.slug}`, addOf(1)), neverDelivered);
      if (outcome.kind === 'begun')
        await given.ledger.finish(outcome.lease, keyOf(`more.${team.slug}`), {
          state: 'unsent',
          code: 'rate_limit_exceeded',
        });
      return outcome;
    };
    await holding(team, 200);

    expect(await beginOne()).toMatchObject({ kind: 'refused', max: 200 });
    await setQuota(201);
    expect(await beginOne()).toMatchObject({ kind: 'begun' });
    await setQuota(10);
    expect(await beginOne()).toMatchObject({ kind: 'refused', limit: 'recordsPerTeam', max: 10 });
    await setQuota(null);
    expect(await beginOne()).toMatchObject({ kind: 'refused', max: 200 });
  });

  it('are reserved for a write whose outcome is unknown, until it is known', async () => {
    const team = await given.database.createTeam('uncertain');
    await holding(team, 195);
    const lease = await begin(given.ledger, newWrite(team, `a.${team.slug}`, addOf(5)));
    await given.ledger.release(lease, 60_000, null);
    const another = newWrite(team, `b.${team.slug}`, addOf(1));

    expect(await given.ledger.begin(another, neverDelivered)).toMatchObject({ kind: 'refused' });
    await given.ledger.finish(lease, keyOf(`a.${team.slug}`), {
      state: 'refused',
      status: 409,
      body: '{}',
      recheck: false,
    });

    expect(await given.ledger.begin(another, neverDelivered)).toMatchObject({ kind: 'begun' });
  });

  it('do not count against another team', async () => {
    const [full, other] = [await given.database.createTeam('full'), await given.database.createTeam('other')];
    await holding(full, 200);

    expect(await given.ledger.begin(newWrite(other, 'a.other', addOf(50)), neverDelivered)).toMatchObject({
      kind: 'begun',
    });
  });

  it('leave no entry behind when they are refused', async () => {
    const team = await given.database.createTeam('refused');

    const outcome = await given.ledger.begin(newWrite(team, 'a.refused', addOf(51)), neverDelivered);

    expect(outcome).toEqual({ kind: 'refused', limit: 'recordsPerRrset', max: 50, reservedByActions: false });
    const { rowCount } = await given.database.pool.query('SELECT FROM dns_audit_entry WHERE team_id = $1', [team.id]);
    expect(rowCount).toBe(0);
  });
});
