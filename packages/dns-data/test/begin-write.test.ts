import type { Pool } from '@corral/database';

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decideAdmission, type RrsetWrite } from '../src/index.js';
import { accepted, addOf, begin, bodyOf, mirrorFixture, neverDelivered, newWrite, ZONE_ID } from './mirror-database.js';

const quota = { recordsPerTeam: 100, recordsPerDemo: 20, recordsPerRrset: 6 };
const given = mirrorFixture({ quota });

const setOf = (size: number): RrsetWrite => {
  return { operation: 'set_records', records: Array.from({ length: size }, (_, at) => ({ value: `192.0.2.${at}` })) };
};
const count = (max: number) => fc.integer({ min: 0, max });
const records = fc.integer({ min: 1, max: 8 });
const write: fc.Arbitrary<RrsetWrite> = fc.oneof(
  records.map((of) => setOf(of)),
  records.map((of) => addOf(of)),
  fc.constant({ operation: 'delete' as const }),
  fc.constant({ operation: 'change_ttl' as const, ttl: 60 }),
);
const state = fc.record({
  /** Records of the set. */
  mirrored: count(8),
  /** How many it has again if an earlier action fails. */
  ceiling: fc.option(count(9)),
  /** Records of another set, and those that a pending write reserves for it. */
  others: count(6),
  reserved: count(4),
  teamQuota: fc.option(fc.integer({ min: 4, max: 20 })),
});

type State = typeof state extends fc.Arbitrary<infer S> ? S : never;
const plain: State = { mirrored: 0, ceiling: null, others: 0, reserved: 0, teamQuota: null };

async function arrange(pool: Pool, { mirrored, ceiling, others, reserved, teamQuota }: State) {
  const team = await given.database.createTeam();
  const [name, other] = [`a.${team.slug}`, `b.${team.slug}`];
  for (const [of, size] of [
    [name, mirrored],
    [other, others],
  ] as const) {
    if (size === 0) continue;
    await pool.query(
      `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body) VALUES ($1, $2, 'A', $3, $4, $5)`,
      [ZONE_ID, of, team.slug, size, bodyOf(of, size)],
    );
  }
  await pool.query('UPDATE team SET dns_records_max = $2 WHERE id = $1', [team.id, teamQuota]);
  await pool.query(
    `INSERT INTO dns_audit_entry (team_id, token_id, actor, zone_id, name, type, operation, state, records_ceiling, reserved_records, lease_until)
     SELECT $1, $2, 'token', $3, name, 'A', 'set_records', state::dns_audit_state, ceiling, reserved,
            CASE WHEN state = 'pending' THEN now() + interval '1 minute' END
     FROM (VALUES ($4, 'completed', $6::int, 0), ($5, 'pending', NULL, $7::int)) AS entry (name, state, ceiling, reserved)`,
    [team.id, team.tokenId, ZONE_ID, name, other, ceiling, reserved],
  );
  return { team, name };
}

describe('beginning a write', () => {
  it('follows the rule of admission', async () => {
    await fc.assert(
      fc.asyncProperty(state, write, async (of, asked) => {
        const { team, name } = await arrange(given.database.pool, of);
        const current = of.mirrored === 0 ? null : bodyOf(name, of.mirrored);
        const ceiling = Math.max(of.mirrored, of.ceiling ?? 0);
        const held = of.others + of.reserved + ceiling;
        const owner = {
          limit: 'recordsPerTeam',
          quota: { ...quota, recordsPerTeam: of.teamQuota ?? quota.recordsPerTeam },
        } as const;

        const outcome = await given.ledger.begin(newWrite(team, name, asked), neverDelivered);

        const expected = decideAdmission(asked, { body: current, ceiling }, held, owner);
        if (expected.kind === 'refused') {
          expect(outcome).toMatchObject(expected);
          return;
        }
        if (outcome.kind !== 'begun') throw new Error(`It did not begin: ${JSON.stringify(outcome)}`);
        expect(outcome.lease).toMatchObject({ current, recordsMax: expected.recordsMax });
        expect(await given.database.entry(outcome.lease.entryId)).toMatchObject({
          state: 'pending',
          reserved_records: expected.reserve,
          before_body: current,
        });
      }),
      { numRuns: 150 },
    );
  });

  it('records who writes what, under a lease', async () => {
    const { team, name } = await arrange(given.database.pool, { ...plain, mirrored: 2 });

    const { entryId } = await begin(given.ledger, newWrite(team, name, setOf(5)));

    const { rows } = await given.database.pool.query(
      `SELECT team_id, demo_id, actor, token_id, zone_id, name, type, state, length(request_hash) AS hash, reserved_records,
              lease_until > now() + interval '15 s' AS leased, lease_fence, request_id, before_body, answered,
              request_body IS NOT NULL AS has_body, operation
       FROM dns_audit_entry WHERE id = $1`,
      [entryId],
    );
    expect(rows).toEqual([
      {
        team_id: team.id,
        demo_id: null,
        actor: 'token',
        token_id: team.tokenId,
        zone_id: ZONE_ID,
        name,
        type: 'A',
        state: 'pending',
        hash: 32,
        reserved_records: 3,
        leased: true,
        lease_fence: 1,
        request_id: 'request',
        before_body: bodyOf(name, 2),
        answered: false,
        has_body: true,
        operation: 'set_records',
      },
    ]);
  });

  it('never exceeds the quota, however many begin at the same time', async () => {
    const { team, name } = await arrange(given.database.pool, { ...plain, others: 6, teamQuota: 10 });

    const outcomes = await Promise.all(
      Array.from({ length: 24 }, (_, at) =>
        given.ledger.begin(newWrite(team, `n${at}.${name}`, setOf(1)), neverDelivered),
      ),
    );

    expect(outcomes.filter(({ kind }) => kind === 'begun')).toHaveLength(4);
    expect(outcomes.filter(({ kind }) => kind === 'refused')).toHaveLength(20);
  });

  it('admits what fits although other writes end meanwhile, and no more', async () => {
    const { team, name } = await arrange(given.database.pool, { ...plain, teamQuota: 10 });
    const write = async (at: number): Promise<string> => {
      const asked = newWrite(team, `n${at}.${name}`, setOf(1));
      const begun = await given.ledger.begin(asked, neverDelivered);
      if (begun.kind === 'begun')
        await given.ledger.finish(begun.lease, asked.key, accepted(bodyOf(asked.key.name, 1)));
      return begun.kind;
    };

    const kinds = await Promise.all(Array.from({ length: 24 }, (_, at) => write(at)));

    expect(kinds.toSorted()).toEqual([...Array(10).fill('begun'), ...Array(14).fill('refused')]);
  });

  it('leaves nothing behind when it is refused at once', async () => {
    const { team, name } = await arrange(given.database.pool, { ...plain, others: 6, teamQuota: 4 });

    const outcome = await given.ledger.begin(newWrite(team, name, setOf(3)), neverDelivered);

    expect(outcome).toMatchObject({ kind: 'refused', limit: 'recordsPerTeam', max: 4 });
    const { rows } = await given.database.pool.query(
      `SELECT FROM dns_audit_entry WHERE team_id = $1 AND name = $2 AND state = 'pending'`,
      [team.id, name],
    );
    expect(rows).toEqual([]);
  });
});
