import { describe, expect, it } from '@jest/globals';
import {
  type BudgetState,
  capacityOf,
  committedOf,
  freshState,
  levelOf,
  setLevelOf,
  silentMs,
} from '../../src/budget/account.js';
import { keptMs, promisesMax, promisesPerFlow } from '../../src/budget/find-turn.js';
import { readingOf } from '../../src/budget/readings.js';
import {
  type CallEnd,
  end,
  observe,
  parseStatement,
  pause,
  retryAfterMs,
  type Turn,
} from '../../src/budget/statements.js';
import { type Answer, type Ask, exchange } from '../../src/budget/turns.js';

describe('the account', () => {
  const START = 50_000;
  const PATIENT_MS = 3_600_000;

  interface Told {
    readonly process?: string;
    readonly asks?: readonly (Partial<Ask> & { readonly flow: string; readonly count?: number })[];
  }

  /** Processes that tell and ask one account at times that the test controls. */
  function startAccount(of: { level?: number; limit?: number | null } = {}) {
    const { level, limit = 3_600 } = of;
    let now = START;
    let current = freshState({ now, limit, ...(level === undefined ? {} : { level }) });
    let lastId = 0;
    return {
      pass: (ms: number): void => {
        now += ms;
      },
      at: () => now,
      state: () => current,
      tell({ asks = [], process = 'one' }: Told = {}): { flow: string; class: string; answer: Answer }[] {
        const asked = asks.flatMap(({ count = 1, ...each }) =>
          Array.from({ length: count }, () => {
            lastId += 1;
            const usual = { class: 'write', waitedMs: 0, patienceMs: PATIENT_MS } as const;
            return { ...usual, id: lastId, ...each };
          }),
        );
        const { state, answers } = exchange(current, process, { ends: [], asks: asked }, now);
        current = state;
        return asked.map((each) => ({ flow: each.flow, class: each.class, answer: answers.get(each.id) as Answer }));
      },
    };
  }

  type Answers = ReturnType<ReturnType<typeof startAccount>['tell']>;

  /** How many turns each flow got. */
  function turnsIn(answers: Answers): Record<string, number> {
    const turns: Record<string, number> = {};
    for (const { flow, answer } of answers) if (answer.kind === 'go') turns[flow] = (turns[flow] ?? 0) + 1;
    return turns;
  }
  const bucketsIn = (answers: Answers): string[] =>
    answers.flatMap(({ answer }) => (answer.kind === 'go' ? [answer.turn.bucket] : []));
  const refusalsIn = (answers: Answers) => answers.flatMap(({ answer }) => (answer.kind === 'refused' ? [answer] : []));
  const refused = (flow: string, count = 1) => ({ flow, count, patienceMs: 0 });

  describe('while few calls are left', () => {
    it('clean-up, settlements and polls have reserves that writes cannot touch', () => {
      const account = startAccount({ limit: 1_080 });
      account.tell({ asks: Array.from({ length: 40 }, (_, index) => ({ flow: `team ${index}`, count: 30 })) });
      account.pass(1_000);

      const answers = account.tell({
        process: 'two',
        asks: [
          { class: 'cleanup', flow: 'team 7' },
          { class: 'poll', flow: '~poll' },
          { class: 'settle', flow: '~settle' },
          { flow: 'team 7' },
        ],
      });

      expect(turnsIn(answers)).toEqual({ 'team 7': 1, '~poll': 1, '~settle': 1 });
      expect(bucketsIn(answers)).toContain('cleanup');
    });

    it('a sync leaves half of the remaining calls to others', () => {
      const account = startAccount({ limit: 360 });

      account.tell({ asks: [{ class: 'sync', flow: '~sync', count: 200 }] });

      expect(account.state().buckets.common).toBeGreaterThanOrEqual(capacityOf(account.state(), 'common') / 2);
      expect(account.state().buckets.sync).toBeLessThan(1);
    });
  });

  describe('a process that crashes', () => {
    it('does not wait any more, and its calls are not counted as under way', () => {
      const account = startAccount({ level: 30 });
      account.tell({ asks: [{ flow: 'acme', count: 40 }] });
      expect([committedOf(account.state()), readingOf(account.state()).waiting.write]).toEqual([27, 13]);

      account.pass(silentMs);
      account.tell({ process: 'two' });

      expect([committedOf(account.state()), readingOf(account.state()).waiting.write]).toEqual([0, 0]);
      expect(Object.keys(account.state().processes)).toEqual(['two']);
    });
  });

  describe('a new account', () => {
    it('lets ten calls be under way and refuses nobody early until the upstream has stated its budget', () => {
      const account = startAccount({ limit: null });

      const answers = account.tell({ asks: [{ flow: 'acme', count: 40, patienceMs: 1 }] });

      expect(turnsIn(answers)).toEqual({ acme: 10 });
      expect(turnsIn(account.tell({ process: 'two', asks: [{ flow: 'globex' }] }))).toEqual({});
      expect(answers.at(-1)?.answer).toEqual({ kind: 'wait', waitMs: null });
      expect(readingOf(account.state())).toMatchObject({ limit: null, remaining: null, resetAt: null });
    });
  });

  describe('a refused request', () => {
    const first = (answers: Answers) => refusalsIn(answers)[0] as Extract<Answer, { kind: 'refused' }>;

    it('keeps its turn for a while; then other teams may use it', () => {
      const account = startAccount({ level: 0 });
      const { retryAfterMs } = first(account.tell({ asks: [refused('acme')] }));
      account.pass(retryAfterMs + keptMs - 1);
      account.tell();
      expect(account.state().promises).toHaveLength(1);

      account.pass(1);
      account.tell();

      expect(account.state().promises).toEqual([]);
    });

    it('gets a separate time, and above a maximum that of the last one: no team collects turns', () => {
      const account = startAccount({ level: 0 });

      const refusals = refusalsIn(account.tell({ asks: [refused('acme', 100)] }));
      const times = refusals.map(({ retryAfterMs }) => retryAfterMs);

      expect(account.state().promises).toHaveLength(promisesPerFlow);
      expect(new Set(times).size).toBe(promisesPerFlow);
      expect(new Set(times.slice(promisesPerFlow - 1)).size).toBe(1);
      expect(first(account.tell({ asks: [refused('acme')] }))).toMatchObject({ retryAfterMs: times.at(-1) });
      expect(account.state().promises).toHaveLength(promisesPerFlow);
    });

    it('waits hardly longer because another team was refused a thousand times', () => {
      const waits = [1_000, 1].map((count) => {
        const account = startAccount({ level: 0 });
        account.tell({ asks: [refused('flood', count)] });
        return first(account.tell({ asks: [refused('acme')] })).retryAfterMs;
      }) as [number, number];

      expect(waits[0]).toBeLessThanOrEqual(2 * waits[1]);
    });

    it('states what is used up: its share, while others would be served, or the whole budget', () => {
      const ahead = startAccount({ level: 30 });
      ahead.tell({ asks: [{ flow: 'acme', count: 100 }] });
      const answers = ahead.tell({ process: 'two', asks: [{ flow: 'globex' }, refused('acme')] });

      expect(first(answers).usedUp).toBe('share');
      expect(first(startAccount({ level: 0 }).tell({ asks: [refused('acme')] })).usedUp).toBe('budget');
    });

    it('takes bounded memory for all teams together', () => {
      const account = startAccount({ level: 0 });
      const asks = Array.from({ length: 1_100 }, (_, index) => refused(`team ${index}`));

      const refusals = refusalsIn(account.tell({ asks }));

      expect(account.state().promises).toHaveLength(promisesMax);
      expect(refusals).toHaveLength(1_100);
      expect(refusals.every(({ retryAfterMs }) => retryAfterMs > 0)).toBe(true);
    });
  });

  describe('the public view of the budget', () => {
    it('states the limit, the remaining calls, the time of the complete refill, and who waits', () => {
      const account = startAccount({ level: 0 });
      account.tell({
        asks: [
          { flow: 'acme', count: 2 },
          { class: 'poll', flow: '~poll' },
        ],
      });

      expect(readingOf(account.state())).toEqual({
        limit: 3_600,
        remaining: 0,
        resetAt: new Date(START + 3_600_000),
        waiting: { write: 2, cleanup: 0, settle: 0, recheck: 0, poll: 1, sync: 0 },
      });
    });
  });
});

describe('statements', () => {
  const NOW = 1_000_000;

  /** An account of 3,600 calls per hour. */
  function anAccount(of: { level: number; out?: number; ended?: number; limit?: number | null }): BudgetState {
    const { level, out = 0, ended = 0, limit = 3_600 } = of;
    const process = { seenAt: NOW, out, waiting: [] };
    return { ...setLevelOf(freshState({ now: NOW, limit }), level), ended, processes: { one: process } };
  }

  describe('a statement of the upstream', () => {
    it.each([
      // The call that made the statement has ended and is counted in it.
      ['that agrees changes nothing', { level: 100, ended: 1 }, 100, 100],
      ['is believed when it is lower', { level: 100, ended: 1 }, 40, 40],
      ['is believed when it is higher', { level: 100, ended: 1 }, 140, 140],
      ['a little below hides a fraction, and what flowed in since', { level: 100.9, ended: 1 }, 100, 100],
      // 7 calls are still under way: the upstream may have counted any of them.
      ['that calls under way explain changes nothing', { level: 100, ended: 1, out: 7 }, 105, 100],
      ['that even calls under way do not explain raises the account', { level: 100, ended: 1, out: 7 }, 110, 103],
      ['far below leaves out calls that it may not have counted', { level: 100, ended: 1, out: 7 }, 50, 43],
      // 5 more calls ended since this one began: the upstream may not have counted them either.
      ['that calls ended since explain changes nothing', { level: 100, ended: 6 }, 104, 100],
      ['that they do not explain raises the account', { level: 100, ended: 6 }, 110, 105],
      ['of nothing left may mean less than nothing', { level: 100, ended: 1, out: 7 }, 0, -7],
    ])('%s', (_what, account, remaining, expected) => {
      const state = observe(anAccount(account), { limit: 3_600, remaining, endedBefore: 0 });

      expect(levelOf(state)).toBeCloseTo(expected, 6);
    });

    it('sets the limit, and with it the capacity', () => {
      const state = observe(anAccount({ level: 3_600, limit: null, ended: 1 }), {
        limit: 720,
        remaining: 719,
        endedBefore: 0,
      });

      expect(state.limit).toBe(720);
      expect(levelOf(state)).toBeCloseTo(719, 6);
    });

    it('that is the first leaves out the calls under way, though all calls were there', () => {
      const first = observe(anAccount({ level: 3_590, limit: null, out: 9, ended: 1 }), {
        limit: 60,
        remaining: 59,
        endedBefore: 0,
      });

      expect(levelOf(first)).toBeCloseTo(50, 6);
    });

    it.each([['-1'], ['1.5'], ['many'], ['1, 2'], ['']])('is ignored with the remaining budget %j', (remaining) => {
      expect(parseStatement({ 'ratelimit-remaining': remaining })).toBeNull();
    });

    it('may omit the limit', () => {
      expect(parseStatement({ 'ratelimit-remaining': '7', 'ratelimit-limit': '0' })).toEqual({
        limit: null,
        remaining: 7,
      });
    });
  });

  describe('a 429', () => {
    const pauseOf = (retryAfter: number | null, refusals = 0): number =>
      pause({ ...anAccount({ level: 1 }), refusals }, retryAfter).pausedUntil - NOW;

    it.each([
      ['stops all calls for its time', 7_000, 7_000],
      ['for an hour at most', 999_999_000, 3_600_000],
      ['for a moment at least, lest it become a busy loop', 0, 100],
      ['for a second where it does not say', null, 1_000],
    ])('%s', (_what, retryAfter, expected) => {
      expect(pauseOf(retryAfter)).toBe(expected);
    });

    it('without a time pauses calls longer each time until another answer arrives, for at most a minute', () => {
      expect([0, 1, 2, 5, 6, 60].map((refusals) => pauseOf(null, refusals))).toEqual([
        1_000, 2_000, 4_000, 32_000, 60_000, 60_000,
      ]);
    });

    it('is one for all calls that were under way: they do not make the pause longer', () => {
      const paused = pause(anAccount({ level: 1 }), null);

      expect(pause(paused, null)).toEqual(paused);
      expect(pause(paused, 9_000)).toMatchObject({ pausedUntil: NOW + 9_000, refusals: 1 });
    });

    it.each([
      ['seconds', '7', 7_000],
      ['a date', new Date(NOW + 20_000).toUTCString(), 20_000],
      ['a date that is past', new Date(0).toUTCString(), 0],
      ['words', 'soon', null],
      ['nothing', undefined, null],
    ])('may state its time in %s', (_what, header, expected) => {
      expect(retryAfterMs(header === undefined ? {} : { 'retry-after': header }, NOW)).toBe(expected);
    });
  });

  describe('a call that has ended', () => {
    const turn: Turn = { bucket: 'common', flow: 'acme', endedBefore: 0 };
    const ended = (how: CallEnd, out = 2) => {
      const state = { ...anAccount({ level: 100, out }), next: { acme: 5 } };
      const after = end(state, 'one', turn, how);
      return { level: levelOf(after), out: after.processes.one?.out, ended: after.ended, ahead: after.next.acme };
    };

    it('without reaching the upstream comes back', () => {
      expect(ended({ kind: 'unreached' })).toEqual({ level: 101, out: 1, ended: 0, ahead: 4 });
    });

    it('without an answer counts: the upstream may have had it', () => {
      expect(ended({ kind: 'lost' })).toEqual({ level: 100, out: 1, ended: 1, ahead: 5 });
    });

    it('does not come back when it was written off before, because its process was silent', () => {
      expect(ended({ kind: 'unreached' }, 0)).toMatchObject({ level: 100, out: 0 });
    });

    it('with an answer that states nothing means that the published budget holds', () => {
      const after = end(anAccount({ level: 10, limit: null }), 'one', turn, { kind: 'answered', statement: null });

      expect([after.limit, levelOf(after)]).toEqual([3_600, 3_600]);
    });
  });
});
