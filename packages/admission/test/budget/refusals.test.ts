import { describe, expect, it } from '@jest/globals';
import { levelOf } from '../../src/budget/account/budget-state.js';
import { keptMs, promisesMax, promisesPerFlow } from '../../src/budget/account/promises.js';
import type { BudgetGrant } from '../../src/budget/account/renew-lease.js';
import { turnKeeper } from '../../src/budget/replica/turn-keeper.js';
import { anEmptyAccount, turnsIn } from './an-account.js';

describe('a reserve', () => {
  /** Many teams request more than is available until the reserves are full. */
  const drawnDown = () => {
    const account = anEmptyAccount(0);
    const waiting = Array.from({ length: 50 }, (_, index) => ({ flow: `team ${index}`, count: 40 }));
    for (let minute = 0; minute < 20; minute += 1) {
      for (let part = 0; part < 6; part += 1) {
        account.pass(10_000);
        account.renew({ waiting });
      }
    }
    return { account, waiting };
  };

  it('is lent to all classes while its class does not need it', () => {
    const { account } = drawnDown();

    expect(account.state().buckets.poll).toBeCloseTo(120, 0);
    expect(levelOf(account.state())).toBeLessThan(0.05 * 1_200);
  });

  it('serves its class when needed: the next calls belong to that class', () => {
    const { account, waiting } = drawnDown();
    const poll = { class: 'poll', flow: '~poll', count: 3 } as const;
    const settle = { class: 'settle', flow: '~settle' } as const;
    account.pass(4_000);

    const lease = account.renew({ replica: 'two', waiting: [poll, settle] });
    const late = account.renew({ waiting: waiting.map((each) => ({ ...each, waitedMs: 60_000 })) });

    expect(turnsIn(lease)).toEqual(['~poll 3', '~settle 1']);
    expect(lease.turns.map(({ bucket }) => bucket)).toEqual(expect.arrayContaining(['poll', 'settle']));
    expect(late.turns.length).toBeLessThanOrEqual(1);
  });
});

describe('a refused request', () => {
  const only = (lease: BudgetGrant) => lease.promised[0] as BudgetGrant['promised'][number];

  it('gets a time from which its team has a turn, even if other teams owe less', () => {
    const account = anEmptyAccount(0);
    const [waitMs] = only(account.renew({ refusing: { acme: 1 } })).waitsMs;
    expect(waitMs).toBe(1_429);

    account.pass(waitMs as number);
    const other = account.renew({ replica: 'two', waiting: [{ flow: 'globex', waitedMs: 1_400 }] });
    const own = account.renew({ replica: 'three', waiting: [{ flow: 'acme' }] });

    expect([turnsIn(other), turnsIn(own)]).toEqual([[], ['acme 1']]);
    expect(account.state().promises).toEqual([]);
  });

  it('keeps its turn for a while; then other teams may use it', () => {
    const account = anEmptyAccount(0);
    const [waitMs] = only(account.renew({ refusing: { acme: 1 } })).waitsMs;
    account.pass((waitMs as number) + keptMs - 1);
    account.renew();
    expect(account.state().promises).toHaveLength(1);

    account.pass(1);
    account.renew();

    expect(account.state().promises).toEqual([]);
  });

  it('keeps its promise while the upstream takes no calls', () => {
    const account = anEmptyAccount(0);
    account.renew({ refusing: { acme: 1 } });
    account.renew({ refused: { retryAfterMs: 60_000 } });

    account.pass(60_000);

    expect(turnsIn(account.renew({ waiting: [{ flow: 'acme' }] }))).toEqual(['acme 1']);
  });

  it('gets a time after the pause of a 429', () => {
    const account = anEmptyAccount(100);
    account.renew({ refused: { retryAfterMs: 30_000 } });

    expect(only(account.renew({ refusing: { acme: 1 } }))).toMatchObject({ waitsMs: [30_000], usedUp: 'budget' });
  });

  it('gets a separate time, and above a maximum that of the last one: no team collects turns', () => {
    const account = anEmptyAccount(0);

    const { waitsMs, kept } = only(account.renew({ refusing: { acme: 100 } }));
    const again = only(account.renew({ refusing: { acme: 1 } }));

    expect(kept).toBe(promisesPerFlow);
    expect(new Set(waitsMs).size).toBe(promisesPerFlow);
    expect(waitsMs.slice(promisesPerFlow)).toEqual(waitsMs.slice(promisesPerFlow).map(() => waitsMs[kept - 1]));
    expect(again).toMatchObject({ waitsMs: [waitsMs.at(-1)], kept: 0 });
    expect(account.state().promises).toHaveLength(promisesPerFlow);
  });

  it('waits hardly longer because another team was refused a thousand times', () => {
    const [flooded, calm] = [anEmptyAccount(0), anEmptyAccount(0)];
    flooded.renew({ refusing: { flood: 1_000 } });
    calm.renew({ refusing: { flood: 1 } });

    const waits = [flooded, calm].map((account) => only(account.renew({ refusing: { acme: 1 } })).waitsMs[0] as number);

    expect(waits[0]).toBeLessThanOrEqual(2 * (waits[1] as number));
  });

  it('states what is used up: its share, while others would be served, or the whole budget', () => {
    const ahead = anEmptyAccount(30);
    ahead.renew({ waiting: [{ flow: 'acme', count: 100 }] });
    expect(only(ahead.renew({ replica: 'two', waiting: [{ flow: 'globex' }], refusing: { acme: 1 } })).usedUp).toBe(
      'share',
    );

    expect(only(anEmptyAccount(0).renew({ refusing: { acme: 1 } })).usedUp).toBe('budget');
  });

  it('keeps the promise of a lost account', () => {
    const account = anEmptyAccount(0);
    const known = { epoch: 'e', limit: 3_600, level: 0 };

    account.renew({ known, promised: [{ flow: 'acme', inMs: 5_000 }] });
    account.renew({ known: { ...known, epoch: 'another' }, promised: [{ flow: 'globex', inMs: 5_000 }] });

    expect(account.state().promises).toEqual([{ flow: 'acme', dueAt: account.at() + 5_000 }]);
  });

  it('takes bounded memory for all teams together', () => {
    const account = anEmptyAccount(0);
    const refusing = Object.fromEntries(Array.from({ length: 1_100 }, (_, index) => [`team ${index}`, 3]));

    const { promised } = account.renew({ refusing });

    expect(account.state().promises).toHaveLength(promisesMax);
    expect(promised.filter(({ kept }) => kept > 0).length).toBeGreaterThan(promisesMax / 3);
    expect(promised.every(({ waitsMs }) => waitsMs.length === 3 && waitsMs.every((ms) => ms > 0))).toBe(true);
  });
});

describe('a replica whose account was lost', () => {
  const want = { class: 'write', flow: 'acme', key: null } as const;
  /** Of an account with no call left for a minute. */
  const lateLease = (epoch: string): BudgetGrant => ({
    ...anEmptyAccount(0).renew(),
    epoch,
    forecasts: [{ class: 'write', flow: 'acme', firstMs: 60_000, eachMs: 60_000 }],
  });
  /** @returns how many requests it is about to refuse */
  const refusing = (keeper: ReturnType<typeof turnKeeper>, now: number) => keeper.report(now).refusing.acme ?? 0;

  it('refuses nobody early until the others had time to bring their promises to the new one', () => {
    const keeper = turnKeeper();
    keeper.takeUp(lateLease('lost'), 0, 1);
    keeper.takeUp(lateLease('new'), 100, 101);
    keeper.ask(want, { patienceMs: 8_000, again: false }, 102);
    keeper.takeUp(lateLease('new'), 103, 104);

    const early = refusing(keeper, 105);
    keeper.takeUp(lateLease('new'), 2_200, 2_201);

    expect([early, refusing(keeper, 2_202)]).toEqual([0, 1]);
  });

  it('refuses them early when the account is the one that it knows', () => {
    const keeper = turnKeeper();
    keeper.takeUp(lateLease('known'), 0, 1);
    keeper.ask(want, { patienceMs: 8_000, again: false }, 2);

    expect(refusing(keeper, 3)).toBe(1);
  });
});
