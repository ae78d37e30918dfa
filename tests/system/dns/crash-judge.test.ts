import { waitFor } from '@corral/testing';
import { describe, expect, it } from '@jest/globals';
import { type AuditEntry, findUnmatched, replay } from '../../support/crashes/dns-history.js';
import { whileCrashing } from '../../support/crashes/while-crashing.js';
import type { UpstreamWrite } from '../../support/system/local-cloud.js';

/* The judge of the crash test must detect each kind of fault: a judge that detects nothing would always pass. */

const set = { name: 'www.acme', type: 'A' };
const path = '/v1/zones/7001/rrsets/www.acme/A';
const add = { method: 'POST', path: `${path}/actions/add_records`, operation: 'add_records' };
const update = { method: 'PUT', path, operation: 'update' };
const remove = { method: 'DELETE', path, operation: 'delete' };
const records = (mark: number) => ({ records: [{ value: '192.0.2.1', comment: `write ${mark}` }] });
const failed = { actionError: { code: 'action_failed', message: 'injected fault' } };

/** A write as the upstream log reports it. `number` orders it and names its action. */
const write = (number: number, { method, path } = add, changes: Partial<UpstreamWrite> = {}): UpstreamWrite => ({
  seq: number,
  zone: 'example.test',
  ...set,
  method,
  path,
  body: method === 'POST' ? records(number) : method === 'PUT' ? { labels: { write: '7' } } : null,
  actionId: method === 'PUT' ? null : number,
  actionError: null,
  ...changes,
});

/** The entry of a write that was answered. */
const entry = (number: number, { operation } = add, changes: Partial<AuditEntry> = {}): AuditEntry => {
  const { body, actionId } = write(
    number,
    [add, update, remove].find((each) => each.operation === operation),
  );
  return {
    id: number,
    ...set,
    operation,
    state: 'completed',
    foundApplied: null,
    requestBody: body === null ? null : JSON.stringify(body),
    upstreamBody: JSON.stringify(actionId === null ? {} : { action: { id: actionId } }),
    ...changes,
  };
};
const lost = (foundApplied: boolean) => ({ state: 'settled', upstreamBody: null, foundApplied });
const unsent = { state: 'unsent', upstreamBody: null };

/** What is reported as wrong: `write` or `entry`, with its number. */
const found = (writes: readonly UpstreamWrite[], entries: readonly AuditEntry[]): string[] =>
  findUnmatched(writes, entries).map((problem) => {
    const [, kind, json] = /^(write|entry) without (?:an entry|a write): (.*)$/.exec(problem) ?? [];
    const { seq, id } = JSON.parse(json ?? '') as { seq?: number; id?: number };
    return `${kind} ${seq ?? id}`;
  });

describe('the judge of writes', () => {
  it.each<[history: string, UpstreamWrite[], AuditEntry[], problems: string[]]>([
    ['answers, and an action that failed', [write(1), write(2, add, failed)], [entry(1), entry(2)], []],
    [
      'answers that were lost',
      [write(1), write(2, add, failed)],
      [entry(1, add, lost(true)), entry(2, add, lost(false))],
      [],
    ],
    [
      'writes that never arrived',
      [],
      [entry(1, add, lost(false)), entry(2, add, lost(true)), entry(3, add, unsent)],
      [],
    ],
    [
      'equal writes, each with its entry',
      [write(1, update), write(2, update)],
      [entry(1, update), entry(2, update)],
      [],
    ],
    ['an answered write that is lost', [write(2)], [entry(1), entry(2)], ['entry 1']],
    ['a write without an entry', [write(1), write(2)], [entry(2)], ['write 1']],
    ['a write that arrived although it was refused', [write(1)], [entry(1, add, { state: 'refused' })], ['write 1']],
    ['a write that is said not to have arrived', [write(1)], [entry(1, add, lost(false))], ['write 1']],
    ['a write that was sent twice', [write(1), { ...write(1), seq: 9, actionId: 9 }], [entry(1)], ['write 9']],
    [
      'labels that arrived twice',
      [write(1, update), write(2, update), write(3)],
      [entry(1, update, lost(true)), entry(3)],
      ['write 2'],
    ],
    ['labels that are claimed twice', [write(1, update)], [entry(1, update), entry(2, update)], ['entry 2']],
    ['a deletion that is claimed twice', [write(1, remove)], [entry(1, remove), entry(2, remove)], ['entry 2']],
    ['answers in another order', [write(1), write(2)], [entry(2), entry(1)], ['write 2', 'entry 2']],
    ['an entry of another body', [write(1, add, { body: records(9) })], [entry(1)], ['write 1', 'entry 1']],
    ['an entry of another set', [write(1, add, { name: 'api.acme' })], [entry(1)], ['entry 1', 'write 1']],
  ])('is right about %s', (_history, writes, entries, problems) => {
    expect(found(writes, entries)).toEqual(problems);
  });
});

describe('the replay of the log', () => {
  it('counts the most records that a team ever held, even if they were deleted later', () => {
    const body = { records: [1, 2, 3].map((number) => ({ value: `192.0.2.${number}` })) };

    const { peaks, sets } = replay([write(1, add, { body }), write(2, remove), write(3)]);

    expect(peaks).toEqual(new Map([['acme', { records: 3, seq: 1 }]]));
    expect([...sets.values()].map(({ records }) => records.length)).toEqual([1]);
  });

  it('leaves out writes whose action failed', () => {
    expect(replay([write(1, add, failed)]).sets.size).toBe(0);
  });
});

describe('a run with crashes', () => {
  it('ends and says why as soon as a store does not come back', async () => {
    const disturbances = [() => Promise.reject(new Error('Postgres does not start'))];
    const crashes = { seed: 1, programs: [], downMax: 0, disturbances, answers: () => 0, isEnough: () => false };

    const { problems } = await whileCrashing(crashes, ({ isOver }) => waitFor('the run to be over', isOver));

    expect(problems).toEqual(['Error: Postgres does not start']);
  });
});
