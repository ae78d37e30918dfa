import { setImmediate as turn } from 'node:timers/promises';
import type { DueRecheck } from '@corral/dns-data';
import { silentLog } from '@corral/service';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type SettleDeps, settleWrites } from './settle-writes.js';
import { pageAfter } from './walk-zone.js';

const unhandled: unknown[] = [];
const note = (error: unknown) => void unhandled.push(error);
beforeEach(() => {
  unhandled.length = 0;
  process.on('unhandledRejection', note);
});
afterEach(() => void process.off('unhandledRejection', note));

const aDue = (entryId: number): DueRecheck => ({
  entryId,
  key: { zoneId: 1, name: `n${entryId}.acme`, type: 'A' },
  recheckAt: new Date(0),
});

it('a pass during a database outage fails only after all its work has ended, without an unhandled rejection', async () => {
  const away = Object.assign(new Error('terminating connection'), { code: '57P01' });
  let goOn = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  // After the first read another lane starts, which claims before the first lane does.
  const dues = [aDue(1), away, aDue(2)];
  const deps = {
    settlements: {
      takePending: async () => [],
      takeRechecks: async () => {
        const due = dues.shift();
        if (due instanceof Error) throw due;
        return due === undefined ? [] : [due];
      },
      dropRecheck: async () => undefined,
    },
    mirror: {
      readClock: async () => new Date(0),
      isContested: async () => false,
      observe: async ({ key }: { key: DueRecheck['key'] }) => {
        if (key.name === 'n2.acme') await held;
        return { key, result: 'unchanged' };
      },
    },
    source: { readRrset: async () => ({ kind: 'absent' }), readZone: async () => ({ kind: 'found', id: 1 }) },
    metrics: { rechecks: { inc: () => undefined }, settlements: { inc: () => undefined } },
    log: silentLog,
    reportDrift: () => undefined,
    graceMs: 0,
  } as unknown as SettleDeps;

  const pass = settleWrites(deps)(new AbortController().signal);
  const ended = pass.then(
    () => 'done',
    (error: unknown) => error,
  );
  await turn();
  await turn();
  const early = await Promise.race([ended, turn('under way')]);
  goOn();

  expect([early, await ended, unhandled]).toEqual(['under way', away, []]);
});

const listed = (nextPage: number | null, totalEntries: number | null) => ({ rrsets: [], nextPage, totalEntries });

describe('the page to read next', () => {
  it.each([
    ['the following page after the first', { page: 1, listedTotal: null, total: 500 }, 2],
    ['the following page while nothing changes', { page: 3, listedTotal: 500, total: 500 }, 4],
    [
      'the following page after sets were added, which only move others down',
      { page: 3, listedTotal: 500, total: 520 },
      4,
    ],
    ['the following page when the upstream does not count', { page: 3, listedTotal: 500, total: null }, 4],
    ['the previous page after a set was removed', { page: 3, listedTotal: 500, total: 499 }, 2],
    ['as far back as sets can have moved up', { page: 9, listedTotal: 900, total: 699 }, 6],
    ['never before the first page', { page: 2, listedTotal: 900, total: 100 }, 1],
  ])('is %s', (_what, { page, listedTotal, total }, expected) => {
    const after = pageAfter({ page, listed: listed(page + 1, total), listedTotal, returnsLeft: 1 });

    expect(after.nextPage).toBe(expected);
    expect(after.missed).toBe(0);
  });

  it('is the following page after too many returns, with the number of sets that may be missed', () => {
    const after = pageAfter({ page: 3, listed: listed(4, 490), listedTotal: 500, returnsLeft: 0 });

    expect(after).toEqual({ nextPage: 4, listedTotal: 490, isReturn: false, missed: 10 });
  });

  it('covers any list that shrinks between pages, and terminates', () => {
    const shrinking = fc.record({
      size: fc.integer({ min: 0, max: 900 }),
      removals: fc.array(fc.record({ before: fc.integer({ min: 1, max: 12 }), at: fc.nat(899), count: fc.nat(250) })),
    });
    fc.assert(
      fc.property(shrinking, ({ size, removals }) => {
        let sets = Array.from({ length: size }, (_, index) => index);
        const seen = new Set<number>();
        let missed = 0;
        let calls = 0;
        let returnsLeft = 20;
        let listedTotal: number | null = null;
        for (let page: number | null = 1; page !== null; ) {
          calls += 1;
          for (const { at, count } of removals.filter(({ before }) => before === calls)) {
            sets = sets.filter((_set, index) => index < at || index >= at + count);
          }
          const rrsets = sets.slice((page - 1) * 100, page * 100);
          for (const set of rrsets) seen.add(set);
          const nextPage: number | null = page * 100 < sets.length ? page + 1 : null;
          const after = pageAfter({ page, listed: listed(nextPage, sets.length), listedTotal, returnsLeft });
          if (after.isReturn) returnsLeft -= 1;
          missed += after.missed;
          ({ nextPage: page, listedTotal } = after);
        }
        expect(sets.filter((set) => !seen.has(set)).length).toBeLessThanOrEqual(missed);
      }),
    );
  });
});
