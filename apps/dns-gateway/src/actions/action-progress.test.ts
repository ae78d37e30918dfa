import { type Clock, openScope, places } from '@corral/admission';
import type { ActionRecord } from '@corral/dns-data';
import { describe, expect, it } from '@jest/globals';
import { aCaller } from '../../test/support/a-caller.js';
import { actionProgress } from './action-progress.js';
import type { FollowUntil } from './follow-actions.js';

const NOW = Date.parse('2026-01-02T03:04:05Z');
const running: ActionRecord = {
  id: 880001,
  status: 'running',
  name: 'www.acme',
  type: 'A',
  body: '{"id":880001,"status":"running","progress":10,"finished":null,"error":null,"later":{"field":1.0}}',
  startedAt: new Date(NOW - 5_000),
  checkedAt: new Date(NOW - 5_000),
};
const other: ActionRecord = { ...running, id: 880002 };
const ended: ActionRecord = { ...running, id: 880003, status: 'success' };
const justChecked: ActionRecord = { ...running, id: 880004, checkedAt: new Date(NOW - 500) };

const clock: Clock = { now: () => 0, after: () => () => undefined };

/** @returns with the recorded calls of `follow` */
function start(known: readonly ActionRecord[], { heldMax = 1, drains = false } = {}) {
  const followed: { ids: number[]; until: FollowUntil }[] = [];
  const progress = actionProgress({
    store: { findActions: async () => [...known], recordActions: async () => [] },
    follow: async (actions, until) => void followed.push({ ids: actions.map(({ id }) => id), until }),
    clock,
    holdMs: 3_000,
    draining: drains ? AbortSignal.abort() : new AbortController().signal,
    now: () => NOW,
    pollIntervalMs: 1_000,
    runningMsMax: 60_000,
  });
  const scope = openScope({
    signal: new AbortController().signal,
    waits: { places: places(heldMax), key: aCaller.tokenId },
  });
  return { followed, find: () => progress.find(aCaller, [], scope) };
}

describe('following actions', () => {
  it.each([
    ['one running action', [running]],
    ['one running action that was checked recently', [justChecked]],
    ['several running actions', [running, other]],
  ])('waits until one ends: %s', async (_what, known) => {
    const { followed, find } = start(known);

    expect(await find()).toEqual({ actions: known, isHeld: true });
    expect(followed).toEqual([{ ids: known.map(({ id }) => id), until: 'ended' }]);
  });

  it('waits only for the next upstream answer when one has already ended', async () => {
    const { followed, find } = start([ended, running]);

    await find();

    expect(followed).toEqual([{ ids: [running.id], until: 'reported' }]);
  });

  it.each([
    ['there are no actions', []],
    ['all have ended', [ended]],
    ['one has ended and the others were checked recently', [ended, justChecked]],
  ])('answers immediately when %s', async (_when, known) => {
    const { followed, find } = start(known);

    expect(await find()).toEqual({ actions: known, isHeld: false });
    expect(followed).toEqual([]);
  });

  it.each([
    ['too many reads of the token are held', { heldMax: 0 }],
    ['the process drains', { drains: true }],
  ])('answers with the current state when %s', async (_when, how) => {
    const { followed, find } = start([running], how);

    expect(await find()).toEqual({ actions: [running], isHeld: false });
    expect(followed).toEqual([]);
  });
});
