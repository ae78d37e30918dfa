import { describe, expect, it } from '@jest/globals';
import { capacityOf, committedOf, freshState, levelOf, readingOf } from '../../src/budget/account/budget-state.js';
import { leaseMs, replicaMs } from '../../src/budget/account/renew-lease.js';
import { anEmptyAccount, START, startAccount, turnsIn } from './an-account.js';

describe('while many calls are left', () => {
  it('a replica gets calls ahead of its requests, and they are deducted from the account immediately', () => {
    const account = startAccount();

    const { free } = account.renew({ freeUnused: 0 });

    expect(free).toBeGreaterThan(10);
    expect(levelOf(account.state())).toBeCloseTo(3_600 - free, 6);
    expect(committedOf(account.state())).toBe(free);
  });

  it('it is topped up to the same amount, not given the amount again', () => {
    const account = startAccount();
    const { free } = account.renew({ freeUnused: 0 });

    expect(account.renew({ freeUnused: free }).free).toBe(0);
    expect(account.renew({ freeUnused: free - 3, used: { acme: 3 }, ended: 3 }).free).toBe(3);
  });

  it('unused calls are returned, regardless of their flow', () => {
    const account = startAccount();
    const { free, turns } = account.renew({ freeUnused: 0, waiting: [{ flow: 'acme', count: 2 }] });
    expect(turns).toEqual([{ class: 'write', flow: 'acme', bucket: 'common', count: 2 }]);

    account.renew({
      returned: [
        { bucket: 'common', flow: null, count: free },
        { bucket: 'common', flow: 'acme', count: 2 },
      ],
    });

    expect(levelOf(account.state())).toBeCloseTo(3_600, 6);
    expect(committedOf(account.state())).toBe(0);
  });
});

describe('while few calls are left', () => {
  it('no replica gets calls in advance, and turns rotate between teams, not requests', () => {
    const account = anEmptyAccount(30);

    const lease = account.renew({
      freeUnused: 0,
      waiting: [
        { flow: 'flood', count: 50, waitedMs: 5_000 },
        { flow: 'acme', count: 2 },
        { flow: 'globex', count: 2 },
      ],
    });

    expect(lease.free).toBe(0);
    expect(turnsIn(lease)).toEqual(['acme 2', 'flood 23', 'globex 2']);
  });

  it('a team at one replica has its turn before an overload that has waited longer at another', () => {
    const account = anEmptyAccount(20);
    account.renew({ waiting: [{ flow: 'flood', count: 40 }] });
    account.pass(1_500);

    const lease = account.renew({ replica: 'two', waiting: [{ flow: 'acme' }] });

    expect(turnsIn(lease)).toEqual(['acme 1']);
    expect(account.state().replicas.one).toMatchObject({ waiting: [{ flow: 'flood' }], turns: [] });
  });

  it('turns of a silent replica are kept for it', () => {
    const account = anEmptyAccount(0);
    account.renew({ waiting: [{ flow: 'acme' }] });
    account.pass(2_000);
    account.renew({ replica: 'two', waiting: [{ flow: 'globex' }] });

    // It still reports the request as waiting, although it has its turn.
    const lease = account.renew({ waiting: [{ flow: 'acme', waitedMs: 2_000 }] });

    expect(turnsIn(lease)).toEqual(['acme 1']);
    expect(account.state().replicas.one?.waiting).toEqual([]);
  });

  it('clean-up, settlements and polls have reserves that writes cannot touch', () => {
    const account = startAccount();
    const flood = Array.from({ length: 200 }, (_, index) => ({ flow: `team ${index}`, count: 100 }));
    account.renew({ waiting: flood });
    account.pass(1_000);

    const cleanup = { class: 'cleanup', flow: 'team 7' } as const;
    const polls = { class: 'poll', flow: '~poll' } as const;
    const settlement = { class: 'settle', flow: '~settle' } as const;
    const lease = account.renew({ replica: 'two', waiting: [cleanup, polls, settlement, { flow: 'team 7' }] });

    expect(turnsIn(lease)).toEqual(['team 7 1', '~poll 1', '~settle 1']);
    expect(lease.turns.map(({ bucket }) => bucket)).toContain('cleanup');
  });

  it('a sync leaves half of the remaining calls to others', () => {
    const syncs = { class: 'sync', flow: '~sync', count: 10_000 } as const;
    const account = startAccount();

    account.renew({ waiting: [syncs] });

    expect(account.state().buckets.common).toBeGreaterThanOrEqual(capacityOf(account.state(), 'common') / 2);
    expect(account.state().buckets.sync).toBeLessThan(1);
  });

  it('the account states when a request will have its turn, and when the next one will', () => {
    const account = anEmptyAccount(0);

    const { forecasts } = account.renew({ waiting: [{ flow: 'acme', count: 2 }] });

    // The refill is one call per second. Empty reserves get three tenths of it.
    expect(forecasts).toEqual([{ class: 'write', flow: 'acme', firstMs: 1_429, eachMs: 1_429 }]);
  });
});

describe('a replica that crashes', () => {
  it('frees for others the turns that it never fetched', () => {
    const account = anEmptyAccount(0);
    account.renew({ waiting: [{ flow: 'acme' }] });
    account.pass(2_000);
    account.renew({ replica: 'two' });
    expect(committedOf(account.state())).toBe(1);

    account.pass(leaseMs);
    account.renew({ replica: 'two' });

    expect(committedOf(account.state())).toBe(0);
    expect(levelOf(account.state())).toBeCloseTo(5, 6);
  });

  it('frees its calls when the upstream reports that they were not used', () => {
    const account = startAccount();
    const { free } = account.renew({ freeUnused: 0 });
    account.pass(leaseMs + 1);
    account.renew({ replica: 'two', freeUnused: 0 });
    account.renew({ replica: 'two', returned: [{ bucket: 'common', flow: null, count: free }] });
    const before = levelOf(account.state());
    expect(before).toBeLessThan(3_600 - 10);

    account.renew({ replica: 'two', waiting: [{ flow: 'acme' }] });
    const observed = { limit: 3_600, remaining: 3_599, endedBefore: 0 };
    account.renew({ replica: 'two', ended: 1, observed, known: { epoch: 'e', limit: 3_600, level: before } });

    expect(levelOf(account.state())).toBeCloseTo(3_599, 6);
  });

  it('no longer waits, and is forgotten after a while', () => {
    const account = anEmptyAccount(0);
    account.renew({ waiting: [{ flow: 'acme', count: 5 }] });
    expect(account.renew({ replica: 'two' }).replicas).toBe(2);

    account.pass(leaseMs);
    account.renew({ replica: 'two' });
    expect(readingOf(account.state()).waiting.write).toBe(0);

    account.pass(replicaMs);
    expect(account.renew({ replica: 'two' }).replicas).toBe(1);
  });

  it('cannot return later what was written off', () => {
    const account = startAccount();
    const { free } = account.renew({ freeUnused: 0 });
    account.pass(leaseMs + 1);
    account.renew({ replica: 'two' });
    const before = levelOf(account.state());

    account.renew({ returned: [{ bucket: 'common', flow: null, count: free }] });

    expect(levelOf(account.state())).toBe(before);
  });
});

describe('a replica that stops', () => {
  it('keeps no calls', () => {
    const account = startAccount();
    const { free } = account.renew({ freeUnused: 0 });

    account.renew({ leaves: true, returned: [{ bucket: 'common', flow: null, count: free }] });

    expect(account.state().replicas).toEqual({});
    expect(levelOf(account.state())).toBeCloseTo(3_600, 6);
  });
});

describe('a new account', () => {
  it('lends a few calls and promises no turns until the upstream has stated its budget', () => {
    const account = startAccount(null);

    const lease = account.renew({
      waiting: [
        { flow: 'acme', count: 40 },
        { flow: 'globex', count: 40 },
      ],
      freeUnused: 0,
    });

    expect(lease.free).toBe(0);
    expect(committedOf(account.state())).toBeLessThanOrEqual(10);
    expect(lease.forecasts).toEqual([]);
    expect(readingOf(account.state())).toMatchObject({ limit: null, remaining: null, resetAt: null });
  });

  it('assumes the published budget if answers do not state it', () => {
    const account = startAccount(null);

    account.renew({ answered: true });

    expect(readingOf(account.state())).toMatchObject({ limit: 3_600, remaining: 3_600 });
  });
});

describe('a lost account', () => {
  it('is opened with the knowledge of the first replica that calls', () => {
    const account = startAccount(null);

    account.renew({ newEpoch: 'new', known: { epoch: 'old', limit: 7_200, level: 12 } });

    expect(account.state()).toMatchObject({ epoch: 'new', limit: 7_200 });
    expect(levelOf(account.state())).toBeCloseTo(12, 6);
  });

  it('does not compare statements with calls that it never recorded', () => {
    const account = startAccount(null);
    account.renew({ known: { epoch: 'old', limit: 3_600, level: 12 } });

    const observed = { limit: 3_600, remaining: 900, endedBefore: 0 };
    account.renew({ observed, ended: 1, known: { epoch: 'old', limit: 3_600, level: 12 } });

    expect(levelOf(account.state())).toBeCloseTo(12, 6);
  });
});

describe('calls made while the account was unavailable', () => {
  it('are charged to the team', () => {
    const account = startAccount();
    account.renew({});
    account.pass(60_000);

    account.renew({ madeAlone: { acme: 20 } });

    expect(levelOf(account.state())).toBeCloseTo(3_580, 6);
  });
});

describe('a 429', () => {
  it('pauses all flows until its time', () => {
    const account = anEmptyAccount(100);
    account.renew({ replica: 'two', refused: { retryAfterMs: 5_000 } });

    const during = account.renew({ waiting: [{ flow: 'acme' }], freeUnused: 0 });
    account.pass(5_000);
    const after = account.renew({ waiting: [{ flow: 'acme' }] });

    expect(during).toMatchObject({ turns: [], free: 0, pauseMs: 5_000, forecasts: [{ firstMs: 5_000 }] });
    expect(turnsIn(after)).toEqual(['acme 1']);
  });
});

describe('the public view of the budget', () => {
  it('states the limit, the remaining calls, the time of the complete refill, and who waits', () => {
    const account = startAccount(freshState({ epoch: 'e', now: START, limit: 3_600, level: 0 }));
    account.renew({
      waiting: [
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
