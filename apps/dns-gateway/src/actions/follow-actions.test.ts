import type { ActionRecord, CheckedAction } from '@corral/dns-data';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { type FollowUntil, followActions } from './follow-actions.js';

const NOW = Date.parse('2026-01-02T03:04:05Z');

/** The upstream, answered by the test, and the state in Postgres. */
let checked: Map<number, CheckedAction>;
let asked: { ids: readonly number[]; answer: (ended: readonly number[]) => void; fail: () => void }[];
let follow: ReturnType<typeof followActions>;
beforeEach(() => {
  checked = new Map();
  asked = [];
  follow = followActions({
    polls: {
      takePoll: async (wanted) => ({ kind: 'ours', ids: [...wanted], until: new Date(NOW) }),
      endPoll: async (_until, ids) => {
        for (const id of ids) {
          const { isRunning } = checked.get(id) as CheckedAction;
          checked.set(id, { id, isRunning, checkedAt: new Date(NOW + 1_000) });
        }
      },
      findChecked: async (ids) => ids.map((id) => checked.get(id) as CheckedAction),
    },
    store: {
      recordActions: async (readings) => {
        for (const { id, status } of readings)
          checked.set(id, { id, isRunning: status === 'running', checkedAt: new Date(NOW + 1_000) });
        return [];
      },
    },
    lookAgain: async () => undefined,
    read: (ids) =>
      new Promise((resolve, reject) => {
        const readingOf = (id: number, ended: readonly number[]) => ({
          id,
          body: '{}',
          status: ended.includes(id) ? 'success' : 'running',
        });
        const answer = (ended: readonly number[]) => resolve(ids.map((id) => readingOf(id, ended)) as never);
        asked.push({ ids, answer, fail: () => reject(new Error('away')) });
      }),
    pause: async () => undefined,
    now: () => NOW,
    pollIntervalMs: 1_000,
    onReadError: () => undefined,
  });
});

function start(id: number, until: FollowUntil): { isDone: () => boolean } {
  const running: ActionRecord = {
    id,
    status: 'running',
    name: 'www.acme',
    type: 'A',
    body: '{}',
    startedAt: new Date(NOW),
    checkedAt: new Date(NOW),
  };
  checked.set(id, { id, isRunning: true, checkedAt: new Date(NOW) });
  let isDone = false;
  void follow([running], until, new AbortController().signal).then(() => {
    isDone = true;
  });
  return { isDone: () => isDone };
}

/** Resolves when only upstream calls are pending. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

async function answered(ended: readonly number[]): Promise<readonly number[]> {
  const { ids, answer } = asked.shift() as (typeof asked)[number];
  answer(ended);
  await settled();
  return ids;
}

describe('a follower of an action', () => {
  it('is notified only when the action has ended', async () => {
    const reader = start(1, 'ended');
    await settled();

    await answered([]);
    expect(reader.isDone()).toBe(false);
    await answered([1]);
    expect(reader.isDone()).toBe(true);
  });

  it.each(['ended', 'reported'] as const)('ignores an answer to an earlier request: until %s', async (until) => {
    start(1, 'ended');
    await settled();
    const late = start(2, until);

    expect(await answered([1])).toEqual([1]);
    expect(late.isDone()).toBe(false);
    expect(await answered([2])).toEqual([2]);
    expect(late.isDone()).toBe(true);
  });

  it('is released with the known state when the upstream is unavailable', async () => {
    const first = start(1, 'ended');
    await settled();
    const late = start(2, 'ended');

    asked[0]?.fail();
    await settled();

    expect([first.isDone(), late.isDone()]).toEqual([true, true]);
  });
});
