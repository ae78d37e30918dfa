import type { ActionRecord } from '@corral/dns-data';
import { expect, it } from '@jest/globals';
import { untilOf } from './follow-actions.js';

const NOW = Date.parse('2026-01-02T03:04:05Z');

const aRunning: ActionRecord = {
  id: 880001,
  status: 'running',
  name: 'www.acme',
  type: 'A',
  body: '{}',
  startedAt: new Date(NOW - 5_000),
  checkedAt: new Date(NOW - 5_000),
  propagatedAt: null,
  isOfDemo: false,
};
const other: ActionRecord = { ...aRunning, id: 880002 };
const ended: ActionRecord = { ...aRunning, id: 880003, status: 'success' };
const justChecked: ActionRecord = { ...aRunning, id: 880004, checkedAt: new Date(NOW - 500) };

it.each([
  ['for the end of one', 'ended', [aRunning]],
  ['for the end of one that was checked recently', 'ended', [justChecked]],
  ['for the end of one of several', 'ended', [aRunning, other]],
  ['only for the next upstream answer when one has already ended', 'reported', [ended, aRunning]],
  ['for nothing when there are no actions', null, []],
  ['for nothing when all have ended', null, [ended]],
  ['for nothing when one has ended and the others were checked recently', null, [ended, justChecked]],
] as const)('a read of actions waits %s', (_what, until, known) => {
  expect(untilOf(known, NOW, 1_000)).toBe(until);
});
