import { checkDnsAnswer } from '@corral/contracts';
import { inTransaction, type Queryable } from '@corral/database';
import { waitFor } from '@corral/testing';
import { describe, expect, it } from '@jest/globals';
import {
  answeredRecorder,
  type BeginOutcome,
  copyStore,
  type DeliveryCheck,
  mirrorStore,
  type RefusedWrite,
  refusedWrites,
  settlementStore,
  type WriteEnd,
  type WriteLease,
} from '../src/index.js';
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

describe('the beginning of writes', () => {
  const given = mirrorFixture({ quota: { recordsPerTeam: 10, recordsPerDemo: 20, recordsPerRrset: 6 } });

  it('never exceeds the quota, however many begin at the same time', async () => {
    const { team, name } = given;
    await writeAccepted(given.ledger, newWrite(team, name, addOf(6)), bodyOf(name, 6));

    const outcomes = await Promise.all(
      Array.from({ length: 24 }, (_, at) =>
        given.ledger.begin(newWrite(team, `n${at}.${name}`, addOf(1)), neverDelivered),
      ),
    );

    expect(outcomes.filter(({ kind }) => kind === 'begun')).toHaveLength(4);
    expect(outcomes.filter(({ kind }) => kind === 'refused')).toHaveLength(20);
  });
});

describe('the end of writes', () => {
  const given = mirrorFixture();

  const mirrored = (): Promise<string | null> =>
    mirrorStore(given.database.pool).findRrset(
      { zoneId: ZONE_ID, ownerLabel: given.team.slug, withinName: null },
      given.name,
      'A',
    );

  describe('beginning a write', () => {
    it('reports busy while another write to the set is pending, and whether it is identical', async () => {
      const { entryId } = await begin(given.ledger, newWrite(given.team, given.name, addOf(1)));

      for (const [count, identical] of [
        [1, true],
        [2, false],
      ] as const) {
        expect(await given.ledger.begin(newWrite(given.team, given.name, addOf(count)), neverDelivered)).toEqual({
          kind: 'busy',
          entryId,
          identical,
          isDue: false,
        });
      }
      expect(await given.ledger.begin(newWrite(given.team, `b.${given.name}`, addOf(1)), neverDelivered)).toMatchObject(
        { kind: 'begun' },
      );
    });

    it('succeeds for one of many concurrent attempts', async () => {
      const tries = Array.from({ length: 12 }, (_, at) =>
        given.ledger.begin(newWrite(given.team, given.name, addOf(1, at)), neverDelivered),
      );

      const kinds = (await Promise.all(tries)).map((outcome) => outcome.kind);

      expect(kinds.filter((kind) => kind === 'begun')).toHaveLength(1);
      expect(kinds.filter((kind) => kind === 'busy')).toHaveLength(11);
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

    it('records the set before and after each accepted write, and before each refused one', async () => {
      const [one, two] = [bodyOf(given.name, 1), bodyOf(given.name, 2)];
      await writeAccepted(given.ledger, newWrite(given.team, given.name, addOf(1)), one);
      await writeAccepted(given.ledger, newWrite(given.team, given.name, addOf(1, 2)), two);
      const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(1, 3)));
      await given.ledger.finish(lease, keyOf(given.name), {
        state: 'refused',
        status: 409,
        body: '{}',
        recheck: false,
      });
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

    it('that is found later keeps the answer of the upstream', async () => {
      const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(2)));
      await given.ledger.release(lease, 0, { status: 500, body: '{"error":{}}' });
      const settlements = settlementStore(given.database.prisma);
      const due = await settlements.takePendingOf(keyOf(given.name), 3_000);

      const found = { found: null, applied: false, at: new Date(), recheckAfterMs: 60_000 };
      expect(due && (await settlements.settle(due, found))).toBe(true);

      expect(await given.database.entry(lease.entryId)).toMatchObject({
        state: 'settled',
        found_applied: false,
        upstream_status: 500,
        upstream_body: '{"error":{}}',
      });
    });
  });

  describe('a holder that lost its lease', () => {
    const takeOver = async (db: Queryable, entryId: number): Promise<void> => {
      await db.query('UPDATE dns_audit_entry SET lease_fence = lease_fence + 1 WHERE id = $1', [entryId]);
    };
    const finishLate = async (lease: WriteLease, finish: () => Promise<boolean>): Promise<void> => {
      const { pool, entry } = given.database;
      expect(await finish()).toBe(false);

      expect(await entry(lease.entryId)).toMatchObject({ state: 'pending', reserved_records: 2, lease_fence: 2 });
      expect(await mirrored()).toBeNull();
      const { rowCount } = await pool.query('SELECT FROM dns_action WHERE team_id = $1', [given.team.id]);
      expect(rowCount).toBe(0);
    };
    const finish = (lease: WriteLease) =>
      given.ledger.finish(lease, keyOf(given.name), accepted(bodyOf(given.name, 2)));

    it('changes nothing when it finishes its write late', async () => {
      const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(2)));
      await takeOver(given.database.pool, lease.entryId);

      await finishLate(lease, () => finish(lease));
    });

    it('changes nothing when it loses the lease while it waits for the lock of the owner', async () => {
      const { pool } = given.database;
      const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(2)));

      await finishLate(lease, async () => {
        const finished = await inTransaction(pool, async (tx) => {
          await tx.query('SELECT FROM team WHERE id = $1 FOR UPDATE', [given.team.id]);
          const waiting = finish(lease);
          await waitFor('the holder to wait', async () => {
            const { rowCount } = await pool.query(
              `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
            );
            return rowCount === 1;
          });
          await takeOver(tx, lease.entryId);
          return { waiting };
        });
        return finished.waiting;
      });
    });
  });
});

describe('refused writes', () => {
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
  });

  describe('a write that certainly never reached the upstream', () => {
    it('leaves the ledger and is counted once, however often its holder finishes it', async () => {
      const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(2)));

      expect(await given.ledger.finish(lease, keyOf(given.name), unsent)).toBe(true);
      expect(await given.ledger.finish(lease, keyOf(given.name), unsent)).toBe(false);

      expect(await given.database.entry(lease.entryId)).toBeUndefined();
      expect(await counted()).toEqual([{ operation: 'add_records', code: 'upstream_unavailable', count: 1 }]);
    });

    it('does not come between a write and its repetition, since it changed nothing', async () => {
      const first = await writeAccepted(
        given.ledger,
        newWrite(given.team, given.name, addOf(1)),
        bodyOf(given.name, 1),
      );
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
});

describe('repeated writes', () => {
  const given = mirrorFixture();

  const sendAgain = (wasDelivered: DeliveryCheck = neverDelivered): Promise<BeginOutcome> =>
    given.ledger.begin(newWrite(given.team, given.name, addOf(1)), wasDelivered);

  async function ended(end: WriteEnd): Promise<number> {
    const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(1)));
    await given.ledger.finish(lease, keyOf(given.name), end);
    return lease.entryId;
  }

  async function recordDelivery(entryId: number): Promise<void> {
    const recorder = answeredRecorder(given.database.prisma, 60_000, (error) => {
      throw error;
    });
    recorder.note(entryId);
    await recorder.close();
  }

  const completedAgo = (entryId: number, seconds: number) =>
    given.database.pool.query(
      'UPDATE dns_audit_entry SET completed_at = completed_at - make_interval(secs => $2) WHERE id = $1',
      [entryId, seconds],
    );

  describe('a repeated request', () => {
    it('gets the undelivered answer byte for byte', async () => {
      const end = accepted(bodyOf(given.name, 1));
      const entryId = await ended(end);

      const again = { kind: 'replayed', entryId, status: 201, body: end.body };
      expect(await sendAgain()).toEqual(again);
      expect(await sendAgain()).toEqual(again);
    });

    it.each([
      ['this process saw its answer delivered', async () => undefined, (() => true) as DeliveryCheck],
      ['another process recorded the delivery', recordDelivery, neverDelivered],
    ])('is a new write once %s', async (_what, deliver, wasDelivered) => {
      await deliver(await ended(accepted(bodyOf(given.name, 1))));

      expect(await sendAgain(wasDelivered)).toMatchObject({ kind: 'begun' });
    });

    it('is a new write once another process recorded the delivery, though Postgres failed at first', async () => {
      const entryId = await ended(accepted(bodyOf(given.name, 1)));
      const errors: Error[] = [];
      const { pool } = given.database;
      const refuse = `CREATE FUNCTION refuse_delivery() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON dns_audit_entry FOR EACH ROW EXECUTE FUNCTION refuse_delivery()`;
      await pool.query(refuse);
      const recorder = answeredRecorder(given.database.prisma, 60_000, (error) => errors.push(error));
      recorder.note(entryId);
      await waitFor('a failure', () => errors.length > 0);
      await pool.query('DROP TRIGGER refuse ON dns_audit_entry; DROP FUNCTION refuse_delivery');

      await waitFor('the delivery to be recorded', async () => {
        const { answered } = await given.database.prisma.dnsAuditEntry.findUniqueOrThrow({ where: { id: entryId } });
        return answered;
      });
      await recorder.close();
      expect(await sendAgain(neverDelivered)).toMatchObject({ kind: 'begun' });
    });

    it('is a new write after another write to the set', async () => {
      await ended(accepted(bodyOf(given.name, 1)));
      await writeAccepted(given.ledger, newWrite(given.team, given.name, { operation: 'delete' }), null);

      expect(await sendAgain()).toMatchObject({ kind: 'begun' });
    });

    it('is a new write with another token or body', async () => {
      await ended(accepted(bodyOf(given.name, 1)));

      const asAnother = newWrite(given.team, given.name, addOf(1), 'with another token');
      expect(await given.ledger.begin(asAnother, neverDelivered)).toMatchObject({ kind: 'begun' });
    });

    it('gets the first answer within a minute, and is a new write after that', async () => {
      const entryId = await ended(accepted(bodyOf(given.name, 1)));

      await completedAgo(entryId, 55);
      expect(await sendAgain()).toMatchObject({ kind: 'replayed' });
      await completedAgo(entryId, 6);

      expect(await sendAgain()).toMatchObject({ kind: 'begun' });
    });
  });

  describe('a repeated request whose first copy was settled', () => {
    async function settled(found: string | null, applied: boolean): Promise<number> {
      const lease = await begin(given.ledger, newWrite(given.team, given.name, addOf(1)));
      await given.ledger.release(lease, -1_000, null);
      const store = settlementStore(given.database.prisma);
      const due = await store.takePending(100, 10_000);
      const mine = due.find(({ entryId }) => entryId === lease.entryId);
      if (mine === undefined) throw new Error('The released write is not due');
      await store.settle(mine, { found, applied, at: new Date(), recheckAfterMs: 60_000 });
      return lease.entryId;
    }

    it("gets an answer in the upstream's shape when the effect was found", async () => {
      const entryId = await settled(bodyOf(given.name, 1), true);

      const again = await sendAgain();

      expect(again).toMatchObject({ kind: 'replayed', entryId, status: 201 });
      const body = again.kind === 'replayed' ? JSON.parse(again.body) : null;
      checkDnsAnswer.action(body);
      expect(body.action).toMatchObject({ status: 'success', command: 'add_rrset_records' });
    });

    it('is a new write when the effect was not found', async () => {
      await settled(null, false);

      expect(await sendAgain()).toMatchObject({ kind: 'begun' });
    });
  });

  describe('the first copy of a request', () => {
    const copies = () => copyStore(given.database.prisma, 60_000);
    const request = (of = addOf(1)) => newWrite(given.team, given.name, of);

    it('is found while in progress, and replayed once it has ended undelivered', async () => {
      const lease = await begin(given.ledger, request());
      expect(await copies().findCopy(request(), neverDelivered)).toEqual({
        kind: 'pending',
        entryId: lease.entryId,
        isDue: false,
      });
      expect(await copies().findCopy(request(addOf(2)), neverDelivered)).toBeNull();

      const end = accepted(bodyOf(given.name, 1));
      await given.ledger.finish(lease, keyOf(given.name), end);

      const replayed = { kind: 'replayed', entryId: lease.entryId, status: 201, body: end.body };
      expect(await copies().findCopy(request(), neverDelivered)).toEqual(replayed);
      expect(await copies().findCopy(request(), () => true)).toBeNull();
    });

    it('can be followed past later writes to the set, even when its client has the answer', async () => {
      const lease = await begin(given.ledger, request());
      const end = accepted(bodyOf(given.name, 1));
      await given.ledger.finish(lease, keyOf(given.name), end);
      await recordDelivery(lease.entryId);
      await begin(given.ledger, request(addOf(2)));

      expect(await copies().findCopy(request(), neverDelivered)).toBeNull();
      expect(await copies().followCopy(request(), lease.entryId)).toMatchObject({ kind: 'replayed', body: end.body });
    });
  });
});
