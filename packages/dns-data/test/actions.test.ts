import { connectPrisma } from '@corral/database';
import type { WriteOutcome } from '@corral/hcloud';
import { patientTransactions, waitFor } from '@corral/testing';
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type ActionStore,
  actionStore,
  effectOf,
  type PollTurn,
  type PollTurns,
  performWrite,
  pollTurns,
  type RrsetWrite,
  settlementStore,
  settleWrite,
  timedOutAction,
} from '../src/index.js';
import {
  addOf,
  bodyOf,
  keyOf,
  mirrorFixture,
  neverDelivered,
  newWrite,
  observeLater,
  type TestTeam,
  writeAccepted,
} from './mirror-database.js';

describe('actions', () => {
  const given = mirrorFixture();

  let store: ActionStore;
  beforeAll(() => {
    store = actionStore(given.database.prisma);
  });

  async function startAction(name = `api.${given.team.slug}`): Promise<{ id: number; entryId: number }> {
    return writeAccepted(given.ledger, newWrite(given.team, name, addOf(1)), bodyOf(name, 1));
  }

  describe('the actions of a team', () => {
    it('include those of its own writes only', async () => {
      const mine = await startAction();
      const stranger = await given.database.createTeam();

      expect((await store.findActions(given.team.id, [1, mine.id, mine.id])).map(({ id }) => id)).toEqual([mine.id]);
      expect(await store.findActions(stranger.id, [mine.id])).toEqual([]);
    });

    it('are returned in order of id, with the latest reported state', async () => {
      const [one, two] = [await startAction('a'), await startAction('b')];

      await store.recordActions([{ id: two.id, status: 'success', body: '{ "id": 2 }' }]);

      const found = await store.findActions(given.team.id, [two.id, one.id]);
      expect(found.map(({ id, status }) => ({ id, status }))).toEqual([
        { id: one.id, status: 'running' },
        { id: two.id, status: 'success' },
      ]);
      expect(found[1]?.body).toBe('{ "id": 2 }');
    });

    it('stay finished, whatever is reported later', async () => {
      const { id } = await startAction();
      await store.recordActions([{ id, status: 'success', body: '"first"' }]);

      await store.recordActions([{ id, status: 'running', body: '"late"' }]);

      expect((await store.findActions(given.team.id, [id]))[0]).toMatchObject({ status: 'success', body: '"first"' });
    });

    it('schedule a recheck of their set when they fail, and only then', async () => {
      const [failed, done] = [await startAction('a'), await startAction('b')];

      await store.recordActions([
        { id: failed.id, status: 'error', body: '{}' },
        { id: done.id, status: 'success', body: '{}' },
        { id: 1, status: 'error', body: '{}' },
      ]);

      expect((await given.database.entry(failed.entryId)).recheck_at).toBeInstanceOf(Date);
      expect((await given.database.entry(done.entryId)).recheck_at).toBeNull();
    });

    it('can be recorded by two processes concurrently without a deadlock', async () => {
      const ids: number[] = [];
      for (let at = 0; at < 25; at += 1) ids.push((await startAction(`n${at}.${given.team.slug}`)).id);
      const open = () => connectPrisma(given.database.url, patientTransactions);
      const processes = [open(), open()];

      for (let round = 0; round < 40; round += 1) {
        const reported = ids.map((id) => ({ id, status: 'running', body: `{"round":${round}}` }));
        const all = processes.map((prisma, at) =>
          actionStore(prisma).recordActions(at === 0 ? reported : reported.toReversed()),
        );
        await Promise.all(all);
      }

      expect((await store.findActions(given.team.id, ids)).every(({ body }) => body === '{"round":39}')).toBe(true);
      await Promise.all(processes.map((prisma) => prisma.$disconnect()));
    });
  });

  const RUNNING = '{"id":880001,"status":"running","progress":10,"finished":null,"error":null,"later":{"field":1.0}}';

  describe('timedOutAction', () => {
    it('ends the action in an error and keeps every other member', () => {
      const { status, body } = timedOutAction({ id: 880001, body: RUNNING }, new Date('2026-01-02T03:04:05Z'));

      expect(status).toBe('error');
      expect(JSON.parse(body)).toMatchObject({
        id: 880001,
        status: 'error',
        progress: 10,
        finished: '2026-01-02T03:04:05.000Z',
        later: { field: 1 },
        error: { code: 'timeout' },
      });
    });
  });
});

describe('turns to poll', () => {
  const given = mirrorFixture();

  const LONG = { intervalMs: 0, leaseMs: 60_000, wantedMs: 60_000 };
  let polls: PollTurns;
  beforeAll(() => {
    polls = pollTurns(given.database.prisma);
  });
  beforeEach(async () => {
    await given.database.pool.query('DELETE FROM dns_action_poll');
    await given.database.pool.query('DELETE FROM dns_action');
  });

  let names = 0;
  async function startAction(): Promise<number> {
    names += 1;
    const name = `n${names}.${given.team.slug}`;
    return (await writeAccepted(given.ledger, newWrite(given.team, name, addOf(1)), bodyOf(name, 1))).id;
  }

  const startActions = async (count: number): Promise<number[]> => {
    const ids: number[] = [];
    while (ids.length < count) ids.push(await startAction());
    return ids;
  };

  function ours(turn: PollTurn): Extract<PollTurn, { kind: 'ours' }> {
    if (turn.kind !== 'ours') throw new Error(`Another has the turn, for ${turn.waitMs} ms.`);
    return turn;
  }

  describe('the turn to poll actions', () => {
    it('is held by one process at a time, which polls for all waiting clients', async () => {
      const [one, two] = [await startAction(), await startAction()];
      const first = ours(await polls.takePoll([one], LONG));
      const second = await polls.takePoll([two], LONG);
      await polls.endPoll(first.until, first.ids, 0);

      const third = ours(await polls.takePoll([], LONG));

      expect(first.ids).toEqual([one]);
      expect(second).toEqual({ kind: 'taken', waitMs: expect.any(Number) });
      expect(third.ids).toEqual([two, one]);
    });

    it('goes to one of many processes that ask for it concurrently', async () => {
      const id = await startAction();
      const open = () => connectPrisma(given.database.url, patientTransactions);
      const processes = Array.from({ length: 6 }, open);

      const turns = await Promise.all(processes.map((prisma) => pollTurns(prisma).takePoll([id], LONG)));

      expect(turns.filter(({ kind }) => kind === 'ours')).toHaveLength(1);
      await Promise.all(processes.map((prisma) => prisma.$disconnect()));
    });

    it('comes again after the interval, and not before', async () => {
      const id = await startAction();
      const { until, ids } = ours(await polls.takePoll([id], LONG));
      await polls.endPoll(until, ids, 60_000);

      const early = await polls.takePoll([id], LONG);

      expect(early.kind).toBe('taken');
      expect(early.kind === 'taken' ? early.waitMs : 0).toBeGreaterThan(50_000);
    });

    it('is free again after its holder died, whose late end changes nothing', async () => {
      const id = await startAction();
      const dead = ours(await polls.takePoll([id], { ...LONG, leaseMs: 20 }));

      const next = await waitFor('the turn to be free', async () => {
        const turn = await polls.takePoll([id], LONG);
        return turn.kind === 'ours' ? turn : null;
      });
      await polls.endPoll(dead.until, [], 0);

      expect(next.ids).toEqual([id]);
      expect((await polls.takePoll([id], LONG)).kind).toBe('taken');
    });

    it('cannot be taken while nothing is due', async () => {
      const id = await startAction();

      expect((await polls.takePoll([id], { ...LONG, intervalMs: 60_000 })).kind).toBe('taken');
      expect(ours(await polls.takePoll([id], LONG)).ids).toEqual([id]);
    });

    it('covers 50 actions at most, the longest unchecked first', async () => {
      const ids = await startActions(55);
      const first = ours(await polls.takePoll(ids, LONG));
      // The upstream reported on none of them; they move to the end of the queue all the same.
      await polls.endPoll(first.until, first.ids, 0);

      const second = ours(await polls.takePoll(ids, LONG));

      expect(first.ids).toHaveLength(50);
      expect(second.ids.slice(0, 5).sort()).toEqual(ids.filter((id) => !first.ids.includes(id)));
    });

    it('skips actions that have ended or that no client waits for', async () => {
      const [ended, left, wanted] = (await startActions(3)) as [number, number, number];
      await actionStore(given.database.prisma).recordActions([{ id: ended, status: 'success', body: '{}' }]);
      const { until } = ours(await polls.takePoll([ended, left], LONG));
      await polls.endPoll(until, [], 0);

      const later = ours(await polls.takePoll([wanted], { ...LONG, wantedMs: 0 }));

      expect(later.ids).toEqual([wanted]);
    });
  });

  describe('the time of the last check', () => {
    it('is visible to every process', async () => {
      const [asked, other] = (await startActions(2)) as [number, number];
      const before = await polls.findChecked([asked, other]);
      const { until } = ours(await polls.takePoll([asked], LONG));

      await polls.endPoll(until, [asked], 0);

      const times = async (id: number): Promise<number[]> => {
        const after = await polls.findChecked([id]);
        return [before.find((action) => action.id === id), after[0]].map((action) => action?.checkedAt.getTime() ?? 0);
      };
      const [askedBefore, askedAfter] = (await times(asked)) as [number, number];
      const [otherBefore, otherAfter] = (await times(other)) as [number, number];
      expect(askedAfter).toBeGreaterThan(askedBefore);
      expect(otherAfter).toBe(otherBefore);
    });
  });

  describe('the turn to look up actions without waiting clients', () => {
    const startOld = async (): Promise<number> => {
      const id = await startAction();
      await given.database.pool.query(
        `UPDATE dns_action SET checked_at = checked_at - interval '1 minute' WHERE id = $1`,
        [id],
      );
      return id;
    };

    it('comes once per interval across processes, independent of the polling turn', async () => {
      const id = await startOld();
      ours(await polls.takePoll([id], LONG));

      const [one, other] = await Promise.all([polls.takeLookUp(60_000, 60_000), polls.takeLookUp(60_000, 60_000)]);

      expect([...one, ...other]).toEqual([{ id, body: expect.any(String), overdue: false }]);
      expect(await polls.takeLookUp(60_000, 60_000)).toEqual([]);
    });

    it('covers 50 actions at most, the newest first, and marks the overdue ones', async () => {
      const ids: number[] = [];
      while (ids.length < 52) ids.push(await startOld());
      await given.database.pool.query(
        `UPDATE dns_action SET started_at = started_at - interval '1 hour' WHERE id = $1`,
        [ids[51]],
      );

      const found = await polls.takeLookUp(0, 60_000);
      await actionStore(given.database.prisma).recordActions(
        found.map(({ id, body }) => ({ id, status: 'success', body })),
      );
      const rest = await polls.takeLookUp(0, 60_000);

      expect(found.map(({ id }) => id)).toEqual(ids.slice(1, 51).reverse());
      expect(rest).toMatchObject([
        { id: ids[0], overdue: false },
        { id: ids[51], overdue: true },
      ]);
    });

    it('includes fresh actions while there is room', async () => {
      const old = await startOld();
      const fresh = await startAction();

      const found = await polls.takeLookUp(0, 60_000);
      await actionStore(given.database.prisma).recordActions([{ id: old, status: 'success', body: '{}' }]);

      expect(found.map(({ id }) => id)).toEqual([old, fresh]);
      expect(await polls.takeLookUp(0, 60_000)).toEqual([]);
    });

    it('is not used up while all actions have ended or are fresh', async () => {
      const fresh = await startAction();
      expect(await polls.takeLookUp(60_000, 60_000)).toEqual([]);

      const id = await startOld();
      expect(await polls.takeLookUp(60_000, 60_000)).toMatchObject([{ id }, { id: fresh }]);
    });
  });
});

describe('failed actions', () => {
  const RECORDS_PER_TEAM = 4;
  const given = mirrorFixture({ quota: { recordsPerTeam: RECORDS_PER_TEAM, recordsPerDemo: 0, recordsPerRrset: 10 } });

  const oneIn = (times: number): fc.Arbitrary<boolean> =>
    fc.integer({ min: 1, max: times }).map((drawn) => drawn === 1);
  const host = fc.constantFrom('a', 'a', 'a', 'b');
  const recordsOf = (...values: number[]) => values.map((value) => ({ value: `192.0.2.${value}` }));
  /** Few values, so that many writes name those of earlier ones. */
  const records = fc
    .uniqueArray(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 2 })
    .map((values) => recordsOf(...values));
  const create = (of: ReturnType<typeof recordsOf>): RrsetWrite => {
    return { operation: 'create', ttl: null, labels: {}, records: of };
  };
  const write: fc.Arbitrary<RrsetWrite> = fc.oneof(
    records.map(create),
    { weight: 4, arbitrary: records.map((of): RrsetWrite => ({ operation: 'set_records', records: of })) },
    { weight: 4, arbitrary: records.map((of): RrsetWrite => ({ operation: 'add_records', ttl: null, records: of })) },
    records.map((of): RrsetWrite => ({ operation: 'remove_records', records: of })),
    fc.constant<RrsetWrite>({ operation: 'update', labels: { env: 'prod' } }),
    fc.constant<RrsetWrite>({ operation: 'delete' }),
  );

  interface Sent {
    readonly host: string;
    readonly write: RrsetWrite;
    /** If the upstream accepts it, its action fails and changes nothing. */
    readonly fails: boolean;
    /** The answer already tells how the action ended. */
    readonly endsAtOnce: boolean;
    readonly isAnswerLost: boolean;
  }
  type Step =
    | ({ readonly do: 'write' } & Sent)
    /** One of the running actions has ended, and this becomes known. */
    | { readonly do: 'report'; readonly pick: number }
    /** The set is read, as after a failed action. */
    | { readonly do: 'read'; readonly host: string };

  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('write' as const),
        host,
        write,
        fails: oneIn(2),
        endsAtOnce: oneIn(4),
        isAnswerLost: oneIn(6),
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('report' as const), pick: fc.nat(7) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('read' as const), host }) },
  );

  it('a team never has more records upstream than its quota, whichever actions fail and whenever that becomes known', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
        const team = await given.database.createTeam();
        const upstream = anUpstream();
        const service = aService(team, upstream);
        const known = { fails: false, endsAtOnce: true, isAnswerLost: false };
        await service.send({ host: 'a', write: create(recordsOf(1, 2)), ...known });
        await service.send({ host: 'b', write: create(recordsOf(1, 2)), ...known });
        for (const each of steps) {
          if (each.do === 'write') await service.send(each);
          if (each.do === 'report') await service.report(each.pick);
          if (each.do === 'read') await service.read(each.host);
          expect(upstream.countRecords()).toBeLessThanOrEqual(RECORDS_PER_TEAM);
        }
      }),
      { numRuns: 150, examples: [[addedAfterFailure(false)], [addedAfterFailure(true)]] },
    );
  });

  /** Rarely drawn: the upstream does not have a value that the mirror has, and accepts it. */
  function addedAfterFailure(isReported: boolean): Step[] {
    const known = { do: 'write', host: 'a', endsAtOnce: false, isAnswerLost: false } as const;
    return [
      { ...known, write: { operation: 'set_records', records: recordsOf(2, 3) }, fails: true },
      ...(isReported ? [{ do: 'report' as const, pick: 0 }] : []),
      { ...known, write: { operation: 'add_records', ttl: null, records: recordsOf(3) }, fails: false },
    ];
  }

  type Action = { readonly id: number; readonly status: 'success' | 'error' };
  let lastActionId = 0;

  /** The rules of the upstream about the number of records, and actions that fail. */
  function anUpstream() {
    const sets = new Map<string, string>();
    const running: Action[] = [];
    const valuesAt = (name: string): string[] => {
      const body = sets.get(name);
      return body === undefined ? [] : JSON.parse(body).records.map(({ value }: { value: string }) => value);
    };

    const refusalOf = (name: string, of: RrsetWrite): Extract<WriteOutcome, { kind: 'refused' }> | null => {
      const refused = (status: number, code: string, message = '') => {
        return { kind: 'refused', status, code, body: JSON.stringify({ error: { code, message } }) } as const;
      };
      if (of.operation === 'create') return sets.has(name) ? refused(409, 'uniqueness_error') : null;
      if (!sets.has(name)) return of.operation === 'add_records' ? null : refused(404, 'not_found');
      const isPresent = ({ value }: { value: string }): boolean => valuesAt(name).includes(value);
      if (of.operation === 'add_records' && of.records.some(isPresent)) {
        return refused(422, 'invalid_input', 'duplicate value');
      }
      return of.operation === 'remove_records' && !of.records.every(isPresent) ? refused(422, 'invalid_input') : null;
    };

    return {
      running,
      setAt: (name: string): string | null => sets.get(name) ?? null,
      countRecords: (): number => [...sets.keys()].reduce((sum, name) => sum + valuesAt(name).length, 0),
      write(name: string, { write: of, fails, endsAtOnce }: Sent): WriteOutcome {
        const refusal = refusalOf(name, of);
        if (refusal !== null) return refusal;
        const after = effectOf(keyOf(name), sets.get(name) ?? null, of, null);
        const hasAction = of.operation !== 'update';
        if (!hasAction || !fails) {
          if (after === null) sets.delete(name);
          else sets.set(name, after);
        }
        lastActionId += 1;
        const action: Action = { id: lastActionId, status: fails ? 'error' : 'success' };
        if (hasAction && !endsAtOnce) running.push(action);
        const stated =
          of.operation === 'create' || of.operation === 'update' ? { rrset: JSON.parse(after as string) } : {};
        const started = hasAction ? { action: endsAtOnce ? action : { ...action, status: 'running' } } : {};
        return { kind: 'accepted', status: 201, body: JSON.stringify({ ...stated, ...started }) };
      },
    };
  }

  /** The ledger and the mirror of a team, which learn of the upstream only what it answers. */
  function aService(team: TestTeam, upstream: ReturnType<typeof anUpstream>) {
    const { prisma } = given.database;
    const deps = { ledger: given.ledger, pause: async () => undefined, settleAfterMs: 0 };
    const nameOf = (of: string): string => `${of}.${team.slug}`;

    return {
      async send(sent: Sent): Promise<void> {
        const name = nameOf(sent.host);
        const key = keyOf(name);
        const request = newWrite(team, name, sent.write, `${lastActionId}`);
        const due = { key, operation: sent.write.operation, requestBody: request.requestBody };
        const settlement = {
          settlements: settlementStore(prisma),
          read: async () => upstream.setAt(name),
          graceMs: 1_000,
        };
        await performWrite(
          deps,
          { key, write: sent.write },
          {
            begin: () => given.ledger.begin(request, neverDelivered),
            send: async () => {
              const outcome = upstream.write(name, sent);
              return sent.isAnswerLost ? { kind: 'uncertain', reason: 'no answer' } : outcome;
            },
            settle: (lease) => settleWrite(settlement, { ...lease, ...due }),
          },
        );
      },

      async report(pick: number): Promise<void> {
        const [ended] = upstream.running.splice(pick % Math.max(1, upstream.running.length), 1);
        if (ended !== undefined) await actionStore(prisma).recordActions([{ ...ended, body: '{}' }]);
      },

      read: (of: string): Promise<void> => observeLater(given.database, nameOf(of), upstream.setAt(nameOf(of))),
    };
  }
});
