import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { callClasses } from '../../src/budget/account/call-class.js';
import type { BudgetGrant } from '../../src/budget/account/renew-lease.js';
import { type Asked, type Decided, type Turn, turnKeeper } from '../../src/budget/replica/turn-keeper.js';
import type { Want } from '../../src/budget/replica/waiting-room.js';

const flows = ['acme', 'globex'];
const someClass = fc.constantFrom(...callClasses.slice(0, 2));
const want: fc.Arbitrary<Want> = fc.record({
  class: someClass,
  flow: fc.constantFrom(...flows),
  key: fc.constantFrom(null, 'app/A', 'www/A'),
});
const turns = fc.record({
  class: someClass,
  flow: fc.constantFrom(...flows),
  bucket: fc.constant('common' as const),
  count: fc.integer({ min: 1, max: 4 }),
});

type Step =
  | { ask: Want; patienceMs: number }
  | { cancel: number }
  | { pass: number }
  | { lease: Pick<BudgetGrant, 'turns' | 'free' | 'pauseMs'> };

/** Leases that no account would grant: more turns than requests, and turns for requests that have ended. */
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ ask: want, patienceMs: fc.integer({ min: 1, max: 3_000 }) }) },
  fc.record({ cancel: fc.nat({ max: 30 }) }),
  fc.record({ pass: fc.integer({ min: 1, max: 2_000 }) }),
  fc.record({
    lease: fc.record({
      turns: fc.array(turns, { maxLength: 4 }),
      free: fc.integer({ min: 0, max: 3 }),
      pauseMs: fc.constantFrom(0, 0, 0, 500),
    }),
  }),
);

const reading = { limit: 3_600, remaining: 0, resetAt: null, waiting: {} as BudgetGrant['reading']['waiting'] };
const plainLease: BudgetGrant = {
  epoch: 'e',
  ended: 0,
  validMs: 1_000,
  free: 0,
  turns: [],
  forecasts: [],
  promised: [],
  pauseMs: 0,
  replicas: 1,
  level: 0,
  reading,
};

interface Asking {
  readonly want: Want;
  readonly order: number;
  end: 'sent' | 'refused' | 'cancelled' | null;
}

/** Performs the steps and keeps a separate record. */
function play(steps: readonly Step[]) {
  const keeper = turnKeeper();
  const asked = new Map<number, Asking>();
  const sent: Asking[] = [];
  const wrong: string[] = [];
  let lent = 0;
  let now = 0;

  const settle = (decided: readonly Decided[]): void => {
    for (const { id, kind } of decided) {
      const asking = asked.get(id) as Asking;
      if (asking.end !== null) wrong.push(`${id} was ${asking.end} and then decided again`);
      asking.end = kind === 'go' ? 'sent' : 'refused';
      if (kind === 'go') sent.push(asking);
    }
  };
  const note = (result: Asked, asking: Asking): void => {
    if (result.kind === 'wait') asked.set(result.id, asking);
    else if (result.kind === 'go') sent.push({ ...asking, end: 'sent' });
  };

  for (const [order, step] of steps.entries()) {
    settle(keeper.expire(now));
    if ('ask' in step) {
      const options = { patienceMs: step.patienceMs, again: false };
      note(keeper.ask(step.ask, options, now), { want: step.ask, order, end: null });
    } else if ('cancel' in step) {
      const asking = asked.get(step.cancel);
      if (asking?.end === null) asking.end = 'cancelled';
      keeper.cancel(step.cancel);
    } else if ('pass' in step) now += step.pass;
    else {
      const findings = keeper.report(now);
      lent -= findings.returned.reduce((sum, { count }) => sum + count, 0);
      lent += step.lease.free + step.lease.turns.reduce((sum, { count }) => sum + count, 0);
      settle(keeper.takeUp({ ...plainLease, ...step.lease }, now, now));
    }
  }
  const last = keeper.report(now, { leaves: true });
  lent -= last.returned.reduce((sum, { count }) => sum + count, 0);
  return { sent, wrong, lent, asked };
}

const anyPlay = fc.array(anyStep, { minLength: 20, maxLength: 80, size: 'max' });

describe('a replica', () => {
  it('sends nothing that was refused or aborted before, and decides each request once', () => {
    fc.assert(
      fc.property(anyPlay, (steps) => {
        expect(play(steps).wrong).toEqual([]);
      }),
    );
  });

  it('makes at most as many calls as it was lent and did not return', () => {
    fc.assert(
      fc.property(anyPlay, (steps) => {
        const { sent, lent } = play(steps);

        expect(lent).toBe(sent.length);
      }),
    );
  });

  it('serves the requests of a team, and so those to one record set, in their order', () => {
    fc.assert(
      fc.property(anyPlay, (steps) => {
        const { sent } = play(steps);

        for (const key of ['app/A', 'www/A']) {
          for (const flow of flows) {
            const orders = sent
              .filter((each) => each.want.key === key && each.want.flow === flow)
              .map((each) => each.order);
            expect(orders).toEqual([...orders].sort((one, other) => one - other));
          }
        }
      }),
    );
  });
});

describe('the report of a replica', () => {
  const ready = (lease: Partial<BudgetGrant> = {}) => {
    const keeper = turnKeeper();
    keeper.report(0);
    keeper.takeUp({ ...plainLease, free: 4, ...lease }, 0, 0);
    return keeper;
  };
  const write: Want = { class: 'write', flow: 'acme', key: null };
  const ask = (keeper: ReturnType<typeof ready>, now = 0): Turn => {
    const asked = keeper.ask(write, { patienceMs: 1_000, again: false }, now);
    if (asked.kind !== 'go') throw new Error(`It was not served: ${asked.kind}`);
    return asked.turn;
  };

  it('states the flows of its calls, their outcomes, and the last statement of the upstream', () => {
    const keeper = ready({ ended: 7 });
    const [one, two, three] = [ask(keeper), ask(keeper), ask(keeper)];

    keeper.end(one, { kind: 'answered', statement: { limit: 3_600, remaining: 90 } }, 0);
    keeper.end(two, { kind: 'lost' }, 0);
    keeper.end(three, { kind: 'unreached' }, 0);

    expect(keeper.report(100)).toMatchObject({
      used: { acme: 3 },
      ended: 2,
      answered: true,
      freeUnused: 1,
      returned: [{ bucket: 'common', flow: 'acme', count: 1 }],
      observed: { limit: 3_600, remaining: 90, endedBefore: 7 },
    });
    expect(keeper.report(200)).toMatchObject({ used: {}, ended: 0, observed: null });
  });

  it('states which flows wait, with later requests to a record set behind the first', () => {
    const keeper = ready({ free: 0 });
    const wait = (of: Partial<Want>) => keeper.ask({ ...write, ...of }, { patienceMs: 9_000, again: false }, 0);
    wait({ key: 'app/A' });
    wait({ key: 'app/A', class: 'cleanup' });
    wait({ key: 'www/A' });

    expect(keeper.report(500).waiting).toEqual([{ class: 'write', flow: 'acme', count: 2, waitedMs: 500 }]);
  });

  it('returns unused free calls: immediately when the upstream has fewer, otherwise when no request came', () => {
    const surprised = ready({ level: 2_000 });
    const turn = ask(surprised);
    surprised.end(turn, { kind: 'answered', statement: { limit: 3_600, remaining: 0 } }, 0);
    expect(surprised.wakeAt(1).reportAt).toBe(1);
    expect(surprised.report(1).returned).toEqual([{ bucket: 'common', flow: null, count: 3 }]);

    expect(ready().report(1_000).returned).toEqual([{ bucket: 'common', flow: null, count: 4 }]);
  });

  it('is sent immediately while a request waits, and rarely while it is idle', () => {
    const idle = ready({ free: 0 });
    expect(idle.wakeAt(0).reportAt).toBe(10_000);

    idle.ask(write, { patienceMs: 3_000, again: false }, 2_000);
    expect(idle.wakeAt(2_000)).toEqual({ reportAt: 2_000, expireAt: 5_000 });
  });
});

describe('a request', () => {
  const write: Want = { class: 'write', flow: 'acme', key: null };

  const late = [{ class: 'write' as const, flow: 'acme', firstMs: 5_000, eachMs: 4_000 }];
  const promise = { flow: 'acme', kept: 1, usedUp: 'share' as const };
  const tooLate = (keeper: ReturnType<typeof turnKeeper>, now: number) =>
    keeper.ask(write, { patienceMs: 8_000, again: false }, now);

  it('whose turn would come too late is refused when the account states its time', () => {
    const keeper = turnKeeper();
    const first = tooLate(keeper, 0);
    keeper.report(0);
    expect(keeper.takeUp({ ...plainLease, forecasts: late }, 0, 0)).toEqual([]);

    const second = tooLate(keeper, 100);
    const { refusing, waiting } = keeper.report(101);
    const decided = keeper.takeUp(
      { ...plainLease, forecasts: late, promised: [{ ...promise, waitsMs: [9_000] }] },
      101,
      103,
    );

    expect([first.kind, second]).toEqual(['wait', { kind: 'refuse', id: 2 }]);
    expect([refusing, waiting]).toEqual([{ acme: 1 }, [expect.objectContaining({ count: 1 })]]);
    expect(decided).toEqual([{ kind: 'too_long', id: 2, waitMs: 9_000, usedUp: 'share' }]);
  });

  it('of a team that gets no further promise is refused immediately while that is known', () => {
    const keeper = turnKeeper();
    tooLate(keeper, 0);
    keeper.report(0);
    keeper.takeUp({ ...plainLease, forecasts: late }, 0, 0);
    tooLate(keeper, 100);
    tooLate(keeper, 100);
    keeper.report(100);
    keeper.takeUp({ ...plainLease, forecasts: late, promised: [{ ...promise, waitsMs: [9_000, 9_000] }] }, 100, 100);

    expect(tooLate(keeper, 300)).toEqual({ kind: 'too_long', waitMs: 8_800, usedUp: 'share' });
    expect(keeper.report(300).refusing).toEqual({});
  });

  it('that disconnects before its answer gets no answer', () => {
    const keeper = turnKeeper();
    tooLate(keeper, 0);
    keeper.report(0);
    keeper.takeUp({ ...plainLease, forecasts: late }, 0, 0);
    const ids = [tooLate(keeper, 100), tooLate(keeper, 100)].map((asked) => (asked.kind === 'refuse' ? asked.id : 0));

    keeper.cancel(ids[0] as number);
    expect(keeper.report(100).refusing).toEqual({ acme: 1 });
    keeper.cancel(ids[1] as number);

    expect(keeper.takeUp({ ...plainLease, promised: [{ ...promise, waitsMs: [9_000] }] }, 100, 100)).toEqual([]);
    expect(keeper.waiting()).toBe(1);
  });

  it('has its promise reported to a new account, once', () => {
    const keeper = turnKeeper();
    tooLate(keeper, 0);
    keeper.report(0);
    keeper.takeUp({ ...plainLease, forecasts: late }, 0, 0);
    tooLate(keeper, 100);
    keeper.report(100);
    keeper.takeUp({ ...plainLease, promised: [{ ...promise, waitsMs: [9_000] }] }, 100, 100);
    expect(keeper.report(200).promised).toEqual([]);

    keeper.takeUp({ ...plainLease, epoch: 'new' }, 200, 200);

    expect(keeper.report(1_100).promised).toEqual([{ flow: 'acme', inMs: 8_000 }]);
    expect(keeper.report(1_200).promised).toEqual([]);
  });

  it('that was answered 429 is the first of its team again', () => {
    const keeper = turnKeeper();
    const ids = [false, true].map((again) => keeper.ask(write, { patienceMs: 8_000, again }, 0));
    keeper.report(0);

    const [served] = keeper.takeUp({ ...plainLease, turns: [{ ...write, bucket: 'common', count: 1 }] }, 0, 0);

    expect(served?.id).toBe(ids[1]?.kind === 'wait' ? ids[1].id : null);
  });

  it('does not use lent calls that have expired', () => {
    const keeper = turnKeeper();
    keeper.report(0);
    keeper.takeUp({ ...plainLease, free: 4 }, 0, 0);

    const asked = keeper.ask(write, { patienceMs: 8_000, again: false }, plainLease.validMs);

    expect(asked.kind).toBe('wait');
  });
});
