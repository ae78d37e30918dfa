import { setImmediate as turn } from 'node:timers/promises';
import type { DueRecheck } from '@corral/dns-data';
import { silentLog } from '@corral/service';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type SettleDeps, settleWrites } from './settle-writes.js';

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

describe('a pass during a database outage', () => {
  it('fails only after all its work has ended, without an unhandled rejection', async () => {
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
});
