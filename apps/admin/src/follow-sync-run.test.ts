import { describe, expect, it } from '@jest/globals';
import { followRun, type SyncRun } from './follow-sync-run.js';

const running: SyncRun = {
  zoneName: 'example.test',
  state: 'running',
  failure: null,
  rrsetsSeen: 0,
  added: 0,
  changed: 0,
  removed: 0,
  skipped: 0,
};
const done: SyncRun = { ...running, state: 'succeeded', rrsetsSeen: 7 };

/** Answers the polls in sequence: the run, or whether another one is running. */
const sourceOf = (...polls: (SyncRun | 'other running' | 'nothing')[]) => {
  let poll: SyncRun | 'other running' | 'nothing' = 'nothing';
  return {
    async findRun() {
      poll = polls.shift() ?? poll;
      return typeof poll === 'string' ? null : poll;
    },
    isAnyRunning: async () => poll === 'other running',
  };
};

const quiet = { onProgress: () => undefined };

describe('a requested run', () => {
  it('is followed to its end, reporting each change once', async () => {
    const waits: string[] = [];

    const run = await followRun(sourceOf('nothing', running, running, done), {
      takenWithinMs: 5_000,
      onWait: (what) => waits.push(what),
      ...quiet,
    });

    expect(run.rrsetsSeen).toBe(7);
    expect(waits).toEqual(['begun']);
  });

  it('is awaited while another one is running, however long that takes', async () => {
    const waits: string[] = [];
    const source = sourceOf('other running', 'other running', 'other running', running, done);

    await followRun(source, { takenWithinMs: 300, onWait: (what) => waits.push(what), ...quiet });

    expect(waits).toEqual(['waiting for another', 'begun']);
  });

  it('is given up when no reconciler begins it', async () => {
    const following = followRun(sourceOf('nothing'), { takenWithinMs: 300, onWait: () => undefined, ...quiet });

    await expect(following).rejects.toThrow(/No reconciler took the job/);
  });

  it('fails with its reason', async () => {
    const failed: SyncRun = { ...running, state: 'failed', failure: 'The zone is gone.' };

    const following = followRun(sourceOf(failed), { takenWithinMs: 300, onWait: () => undefined, ...quiet });

    await expect(following).rejects.toThrow(
      'The sync failed. The zone is gone. The next sync continues where this one stopped.',
    );
  });
});
