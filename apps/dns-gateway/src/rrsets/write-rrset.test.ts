import { fairQueue, openScope, type Places, places } from '@corral/admission';
import type { FirstCopy, RefusedWrite, WriteEnd, WriteLease } from '@corral/dns-data';
import type { WriteOptions, WriteOutcome } from '@corral/hcloud';
import { describe, expect, it } from '@jest/globals';
import { aCaller } from '../../test/support/a-caller.js';
import type { Services } from '../services.js';
import type { CheckedWrite } from './send-write.js';
import { settleOwn, type UnknownWrite } from './settle-writes.js';
import { writeRrset } from './write-rrset.js';

describe('writes', () => {
  interface Of {
    readonly name?: string;
    readonly tokenId?: string;
    readonly gone?: AbortSignal;
    readonly waitMs?: number;
    readonly waiting?: Places;
  }

  function changeTtl(ttl: number, of: Of = {}): CheckedWrite {
    const { name = 'api.acme', tokenId = 'token', gone = new AbortController().signal, waitMs = 1_000 } = of;
    const bytes = Buffer.from(JSON.stringify({ ttl }));
    const segments = ['zones', '7001', 'rrsets', name, 'A', 'actions', 'change_ttl'];
    return {
      caller: { ...aCaller, tokenId },
      key: { zoneId: 7001, name, type: 'A' },
      write: { operation: 'change_ttl', ttl },
      bytes,
      upstream: { team: 'team', method: 'POST', segments, body: bytes },
      requestId: 'r',
      scope: openScope({
        signal: gone,
        deadline: performance.now() + waitMs,
        waits: { places: of.waiting ?? places(64), key: tokenId },
      }),
    };
  }

  const accepted: WriteOutcome = {
    kind: 'accepted',
    status: 201,
    body: '{"action":{"id":1,"status":"running"}}',
  };

  const leaseOf = (entryId: number): WriteLease => ({
    entryId,
    fence: 1,
    owner: { kind: 'team', id: 'acme', teamId: null },
    operation: 'set_records',
    current: '{"ttl":60,"labels":{},"records":[{"value":"192.0.2.1"}]}',
    recordsMax: 0,
  });

  /** A writer with a ledger that admits everything, and an upstream whose answers the test controls. */
  function startWriter(ledger: Partial<Services['ledger']> = {}, copies: Partial<Services['copies']> = {}) {
    const sent: string[] = [];
    const options: WriteOptions[] = [];
    const refused: string[] = [];
    const ends: WriteEnd[] = [];
    let answer: (outcome: WriteOutcome) => void = () => undefined;
    let entries = 0;
    const startedAt = performance.now();
    let paused = 0;
    const oneAtATime = { concurrency: 99, perOwner: 1, waiting: 99, waitingPerOwner: 99, waitMs: 60_000 };
    const ofWrites: Partial<Services['ledger']> = {
      begin: async () => ({ kind: 'begun', lease: leaseOf(++entries) }),
      finish: async (_lease, _key, end) => ends.push(end) > 0,
      release: async () => undefined,
      ...ledger,
    };
    const send: Services['upstream']['write'] = ({ body }, given = {}) => {
      sent.push(String(body));
      options.push(given);
      return new Promise((resolve) => {
        answer = resolve;
      });
    };
    const services = {
      ledger: ofWrites,
      copies: { findCopy: async () => null, followCopy: async () => null, ...copies },
      upstream: { write: send, budget: () => ({ limit: null }) },
      refused: { count: async ({ operation, code }: RefusedWrite) => void refused.push(`${operation} ${code}`) },
      answered: { has: () => false },
      sets: fairQueue(oneAtATime),
      owners: fairQueue(oneAtATime),
      underWay: new Map(),
      pause: async (ms: number) => {
        paused += ms;
      },
      now: () => startedAt + paused,
      log: { warn: () => undefined },
      config: { settleAfterMs: 0, settleWithinMs: 0 },
    } as unknown as Services;
    const write = (request: CheckedWrite) => writeRrset(services, request);
    const untilSent = async (count: number): Promise<void> => {
      while (sent.length < count) await new Promise(setImmediate);
    };
    return { write, sent, options, ends, refused, untilSent, answer: (outcome = accepted) => answer(outcome) };
  }

  describe('a repeated write', () => {
    it('shares the answer of its first copy, while that waits and while it is sent', async () => {
      const { write, sent, untilSent, answer } = startWriter();

      const first = write(changeTtl(60));
      const waiting = write(changeTtl(60));
      await untilSent(1);
      const late = write(changeTtl(60));
      answer();

      expect(new Set(await Promise.all([first, waiting, late])).size).toBe(1);
      expect(sent).toEqual(['{"ttl":60}']);
    });

    it('shares the answer of a copy from another process on arrival, before its turn', async () => {
      const replayed: FirstCopy = { kind: 'replayed', entryId: 7, status: 201, body: '{}' };
      const { write, sent, untilSent, answer } = startWriter({}, { findCopy: async () => replayed });
      const first = write(changeTtl(60));
      await untilSent(1);

      expect(await write(changeTtl(120))).toMatchObject({ entryId: 7, status: 201 });
      answer();
      await first;
      expect(sent).toEqual(['{"ttl":60}']);
    });

    it('follows a pending copy of another process to its end, despite other writes to the set', async () => {
      const outcomes: (FirstCopy | null)[] = [
        { kind: 'pending', entryId: 7, isDue: false },
        { kind: 'pending', entryId: 7, isDue: false },
        { kind: 'replayed', entryId: 7, status: 201, body: '{}' },
      ];
      const { write, sent } = startWriter(
        { begin: async () => ({ kind: 'busy', entryId: 7, identical: true, isDue: false }) },
        { followCopy: async () => outcomes.shift() ?? null },
      );

      expect(await write(changeTtl(60))).toMatchObject({ entryId: 7, status: 201 });
      expect(sent).toEqual([]);
    });

    it('is sent when the followed copy definitely did not happen', async () => {
      let begins = 0;
      const { write, sent, untilSent, answer } = startWriter({
        begin: async () => {
          begins += 1;
          return begins === 1
            ? { kind: 'busy', entryId: 7, identical: true, isDue: false }
            : { kind: 'begun', lease: leaseOf(8) };
        },
      });

      const writing = write(changeTtl(60));
      await untilSent(1);
      answer();

      expect((await writing).entryId).toBe(8);
      expect(sent).toHaveLength(1);
    });

    it('is not shared between tokens or sets', async () => {
      const { write, sent, untilSent, answer } = startWriter();

      const writes = [write(changeTtl(60)), write(changeTtl(60, { tokenId: 'other' }))];
      for (const count of [1, 2]) {
        await untilSent(count);
        answer();
      }
      await Promise.all(writes);

      expect(sent).toHaveLength(2);
    });
  });

  it('writes to different sets are refused when their turn comes too late, and dropped when the client disconnects', async () => {
    const { write, refused } = startWriter({ begin: () => new Promise(() => undefined) });
    const gone = new AbortController();

    void write(changeTtl(60, { name: 'a.acme' }));
    const late = write(changeTtl(60, { name: 'b.acme', waitMs: 20 }));
    const left = write(changeTtl(60, { name: 'c.acme', gone: gone.signal }));
    gone.abort(new Error('gone'));

    await expect(left).rejects.toThrow('gone');
    await expect(late).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    expect(refused).toContain('change_ttl rate_limit_exceeded');
  });

  it('a write to a set that another process is writing to is retried until the set is free or the deadline has passed', async () => {
    const busy = { kind: 'busy', entryId: 1, identical: false, isDue: false } as const;
    let left = 3;
    const { write, untilSent, answer } = startWriter({
      begin: async () => (left-- > 0 ? busy : { kind: 'begun', lease: leaseOf(1) }),
    });
    const writing = write(changeTtl(60));
    await untilSent(1);
    answer();
    await writing;

    const never = startWriter({ begin: async () => busy });
    await expect(never.write(changeTtl(60))).rejects.toMatchObject({ code: 'conflict' });
    expect(never.sent).toEqual([]);
    expect(never.refused).toEqual(['change_ttl conflict']);
  });

  describe('a write whose client disconnects', () => {
    it('is not sent while it waits for its set, and does not block later writes', async () => {
      const { write, sent, untilSent, answer } = startWriter();
      const gone = new AbortController();
      const first = write(changeTtl(60));
      const left = write(changeTtl(120, { gone: gone.signal }));
      const next = write(changeTtl(180));
      await untilSent(1);

      gone.abort(new Error('gone'));

      await expect(left).rejects.toThrow('gone');
      answer();
      await untilSent(2);
      answer();
      await Promise.all([first, next]);
      expect(sent).toEqual(['{"ttl":60}', '{"ttl":180}']);
    });

    it('is withdrawn while it waits for the budget', async () => {
      const { write, ends, untilSent, answer } = startWriter();
      const gone = new AbortController();
      const left = write(changeTtl(60, { gone: gone.signal }));
      await untilSent(1);

      gone.abort(new Error('gone'));
      answer({ kind: 'unreached', reason: 'the caller gave up before it was sent' });

      await expect(left).rejects.toThrow('gone');
      expect(ends).toEqual([{ state: 'unsent', code: 'upstream_unavailable' }]);
    });

    it('continues for another client that shares it, and aborts when all have disconnected', async () => {
      const { write, options, untilSent } = startWriter();
      const clients = [new AbortController(), new AbortController()];
      const answers = clients.map(({ signal }) => write(changeTtl(60, { gone: signal })));
      for (const answer of answers) answer.catch(() => undefined);
      await untilSent(1);

      clients[0]?.abort();
      expect(options[0]?.scope?.signal.aborted).toBe(false);
      clients[1]?.abort();
      expect(options[0]?.scope?.signal.aborted).toBe(true);
    });

    it('is not shared by a repetition that arrives after all clients have disconnected', async () => {
      const { write, sent, untilSent, answer } = startWriter();
      const gone = new AbortController();
      const left = write(changeTtl(60, { gone: gone.signal }));
      left.catch(() => undefined);
      await untilSent(1);
      gone.abort(new Error('gone'));

      const repeated = write(changeTtl(60));
      answer({ kind: 'unreached', reason: 'the caller gave up before it was sent' });
      await untilSent(2);
      answer();

      expect((await repeated).status).toBe(201);
      expect(sent).toHaveLength(2);
    });
  });

  it('a write beyond the waiting places of its token gets 429 with that reason for any wait, and is not sent', async () => {
    const { write, sent, ends, untilSent, answer } = startWriter();
    const waiting = places(1);
    const first = write(changeTtl(60, { waiting }));
    await untilSent(1);
    const second = write(changeTtl(120, { waiting }));

    await expect(write(changeTtl(180, { waiting }))).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      message: expect.stringContaining('writes with this token are waiting'),
    });
    answer({ kind: 'throttled', retryAfterSeconds: 7, resetAt: new Date(), usedUp: 'places' });
    await expect(first).rejects.toMatchObject({
      message: expect.stringContaining('writes with this token are waiting'),
      retryAfterSeconds: 7,
    });
    expect(ends).toEqual([{ state: 'unsent', code: 'rate_limit_exceeded' }]);

    await untilSent(2);
    answer();
    await second;
    expect(sent).toEqual(['{"ttl":60}', '{"ttl":120}']);
  });
});

describe('settling', () => {
  const found = '{"ttl":60,"labels":{},"records":[{"value":"192.0.2.1"}]}';
  const write: UnknownWrite = {
    key: { zoneId: 7001, name: 'www.acme', type: 'A' },
    write: { operation: 'change_ttl', ttl: 60 },
    bytes: Buffer.from('{"ttl":60}'),
    scope: openScope({ signal: new AbortController().signal }),
  };
  const owner = { kind: 'team', id: 'acme', teamId: null } as const;
  const lease: WriteLease = { entryId: 1, fence: 1, owner, operation: 'set_records', current: null, recordsMax: 1 };

  /** Time passes only in pauses. */
  function start(changed: Partial<Services['settlements']> = {}) {
    let now = 0;
    const readAt: number[] = [];
    const settled: unknown[] = [];
    const settlements: Partial<Services['settlements']> = {
      settle: async (due, { applied }) => settled.push({ fence: due.fence, applied }) > 0,
      renew: async () => undefined,
      ...changed,
    };
    const services = {
      settlements,
      read: async () => {
        readAt.push(now);
        return found;
      },
      pause: async (ms: number) => {
        now += ms;
      },
      now: () => now,
      log: { warn: () => undefined },
      config: { settleAfterMs: 2_000, settleWithinMs: 5_000, settleGraceMs: 60_000 },
    } as unknown as Services;
    return { settle: () => settleOwn(services, write, lease), readAt, settled };
  }

  describe('a write of this process whose outcome is unknown', () => {
    it('is read after the time that the upstream may still need', async () => {
      const { settle, readAt, settled } = start();

      expect(await settle()).toMatchObject({ applied: true, found });

      expect(readAt).toEqual([2_000]);
      expect(settled).toEqual([{ fence: 1, applied: true }]);
    });

    it('has the outcome found by another process that took it over', async () => {
      const outcome = { applied: true, found, at: new Date() };
      const { settle } = start({ settle: async () => false, findSettled: async () => outcome });

      expect(await settle()).toBe(outcome);
    });
  });
});
