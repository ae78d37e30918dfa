import type { Turn, Turned, UpstreamBudget } from '@corral/admission';
import { describe, expect, it } from '@jest/globals';
import { type CallDeps, performRead, sendWrite } from './calls.js';

const turn: Turn = { bucket: 'common', flow: 'acme', epoch: 'e', endedBefore: 0 };
const tooLong: Turned = { kind: 'too_long', retryAfterSeconds: 7, resetAt: new Date(7_000), usedUp: 'share' };

/** No server listens, and only the first request for a turn comes in time. */
function lateDeps(first: Turned = { kind: 'go', turn }): CallDeps {
  const turns = [first];
  const budget = { turn: async () => turns.shift() ?? tooLong, end: () => undefined } as unknown as UpstreamBudget;
  const wire = { exchange: async () => ({ kind: 'broken', reached: false, reason: 'no connection' }) as const };
  const log = { error: () => undefined, warn: () => undefined };
  return {
    budget,
    wire: { ...wire, close: () => undefined },
    log,
    waitMsMax: 60_000,
    onCall: () => undefined,
    now: () => 0,
  };
}

const write = { team: 'acme', method: 'POST', segments: ['zones'], body: null } as const;
const reading = { class: 'settle', turnMsMax: 60_000, route: 'GET /zones', path: '/zones', parse: () => 1 } as const;

describe('a turn that would come too late', () => {
  it('leaves a write throttled if it was not tried yet', async () => {
    expect(await sendWrite(lateDeps(tooLong), write)).toEqual({ ...tooLong, kind: 'throttled' });
  });

  it('reports a write as unreached when no server listened', async () => {
    expect(await sendWrite(lateDeps(), write)).toEqual({ kind: 'unreached', reason: 'no connection' });
  });

  it('fails a read for lack of budget only if it was not tried yet', async () => {
    await expect(performRead(lateDeps(tooLong), reading)).rejects.toMatchObject({ reason: 'its budget is used up' });
    await expect(performRead(lateDeps(), reading)).rejects.toMatchObject({ reason: 'no connection' });
  });
});
