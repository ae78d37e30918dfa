import { expect, it } from '@jest/globals';
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

it('a requested run is awaited while another one is running, however long that takes', async () => {
  const waits: string[] = [];
  const source = sourceOf('other running', 'other running', 'other running', running, done);

  await followRun(source, { takenWithinMs: 300, onWait: (what) => waits.push(what), ...quiet });

  expect(waits).toEqual(['waiting for another', 'begun']);
});
