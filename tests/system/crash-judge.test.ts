import { describe, expect, it } from '@jest/globals';
import type { UpstreamWrite } from '../support/local-cloud.js';
import { type AuditEntry, findUnmatched, replay } from '../support/upstream-history.js';

/** What judges the crash test has to see what it looks for: a judge that is blind would always be content. */

const set = { name: 'www.acme', type: 'A' };
const body = (mark: number) => ({ records: [{ value: '192.0.2.1', comment: `write ${mark}` }] });

const aWrite = (actionId: number, changes: Partial<UpstreamWrite> = {}): UpstreamWrite => ({
  ...{
    seq: actionId,
    zone: 'example.test',
    method: 'POST',
    path: '/v1/zones/7001/rrsets/www.acme/A/actions/add_records',
    ...set,
  },
  ...{ body: body(actionId), actionId, actionError: null, ...changes },
});
const anEntry = (id: number, changes: Partial<AuditEntry> = {}): AuditEntry => ({
  ...{ id, ...set, operation: 'add_records', state: 'completed', requestBody: JSON.stringify(body(id)) },
  ...{ upstreamBody: JSON.stringify({ action: { id } }), foundApplied: null, ...changes },
});
const lost = { upstreamBody: null, state: 'settled' };
const aDelete = { method: 'DELETE', path: '/v1/zones/7001/rrsets/www.acme/A', body: null };

describe('writes and entries that fit', () => {
  it.each<[string, UpstreamWrite[], AuditEntry[]]>([
    ['one after the other', [aWrite(1), aWrite(2)], [anEntry(1), anEntry(2)]],
    ['an answer that was lost', [aWrite(1)], [anEntry(1, { ...lost, foundApplied: true })]],
    ['a refusal, and one that was never sent', [], [anEntry(1, { state: 'refused' }), anEntry(2, { state: 'unsent' })]],
    ['a settled write that never arrived', [aWrite(2)], [anEntry(1, { ...lost, foundApplied: false }), anEntry(2)]],
    [
      'a delete that never arrived before one that did',
      [aWrite(2, aDelete)],
      [
        anEntry(1, { ...lost, foundApplied: true, operation: 'delete', requestBody: null }),
        anEntry(2, { operation: 'delete', requestBody: null }),
      ],
    ],
    [
      'an action that failed',
      [aWrite(1, { actionError: { code: 'failed', message: '' } })],
      [anEntry(1, { ...lost, foundApplied: false })],
    ],
  ])('%s', (_case, writes, entries) => {
    expect(findUnmatched(writes, entries)).toEqual([]);
  });
});

describe('what is reported', () => {
  it.each<[string, UpstreamWrite[], AuditEntry[], RegExp]>([
    ['a write without an entry', [aWrite(1)], [], /^write without an entry/],
    [
      'a write that reached the upstream twice',
      [aWrite(1), aWrite(2, { body: body(1) })],
      [anEntry(1)],
      /^write without/,
    ],
    [
      'an entry that is refused though the write arrived',
      [aWrite(1)],
      [anEntry(1, { state: 'refused' })],
      /^write without/,
    ],
    ['an entry that denies its write', [aWrite(1)], [anEntry(1, { ...lost, foundApplied: false })], /^write without/],
    ['an entry of another body', [aWrite(1, { body: body(9) })], [anEntry(1)], /^write without/],
    ['an entry of another set', [aWrite(1, { name: 'api.acme' })], [anEntry(1)], /^write without|^entry without/],
    ['an entry that claims a write', [aWrite(2)], [anEntry(1), anEntry(2)], /^entry without a write/],
    ['entries in another order than the writes', [aWrite(2), aWrite(1)], [anEntry(1), anEntry(2)], /^entry without/],
  ])('%s', (_case, writes, entries, problem) => {
    expect(findUnmatched(writes, entries)[0]).toMatch(problem);
  });
});

describe('the replay of the log', () => {
  it('counts the most records that a team ever held, though they are gone later', () => {
    const three = { records: [1, 2, 3].map((number) => ({ value: `192.0.2.${number}` })) };

    const { peaks, sets } = replay([aWrite(1, { body: three }), aWrite(2, aDelete), aWrite(3)]);

    expect(peaks).toEqual(new Map([['acme', 3]]));
    expect([...sets.values()].map(({ records }) => records.length)).toEqual([1]);
  });

  it('leaves out writes whose action failed', () => {
    const failed = aWrite(1, { actionError: { code: 'failed', message: '' } });

    expect(replay([failed]).sets.size).toBe(0);
  });
});
