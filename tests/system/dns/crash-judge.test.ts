import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { anEntry, aWrite, settled, type TrueHistory, trueHistories } from '../../support/crashes/true-history.js';
import { type AuditEntry, findUnmatched, replay } from '../../support/crashes/upstream-history.js';
import type { UpstreamWrite } from '../../support/system/local-cloud.js';

/** The judge of the crash test must detect each kind of fault: a judge that detects nothing would always pass. */

const aDelete = { operation: 'delete' } as const;
const labels = { operation: 'update', mark: 7 } as const;
const aTtl = { operation: 'change_ttl' } as const;

/** What is reported as wrong: `write` or `entry`, with its number. */
const found = (writes: readonly UpstreamWrite[], entries: readonly AuditEntry[]): string[] =>
  findUnmatched(writes, entries).map((problem) => {
    const [, kind, json] = /^(write|entry) without (?:an entry|a write): (.*)$/.exec(problem) ?? [];
    const { seq, id } = JSON.parse(json ?? '') as { seq?: number; id?: number };
    return `${kind} ${seq ?? id}`;
  });

describe('writes and entries that match', () => {
  it('are found in every true history, however similar the requests are', () => {
    fc.assert(
      fc.property(trueHistories({ areUnique: false }), ({ writes, entries }) => {
        expect(found(writes, entries)).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});

describe('the judge reports', () => {
  it.each<[string, UpstreamWrite[], AuditEntry[], string[]]>([
    [
      'labels that reached the upstream twice',
      [aWrite(1, labels), aWrite(2, labels), aWrite(3, aTtl)],
      [anEntry(1, labels, settled(true)), anEntry(3, aTtl)],
      ['write 2'],
    ],
    ['an entry of another body', [aWrite(1, { mark: 9 })], [anEntry(1)], ['write 1', 'entry 1']],
    ['an entry of another set', [{ ...aWrite(1), name: 'api.acme' }], [anEntry(1)], ['entry 1', 'write 1']],
    ['labels that are claimed twice', [aWrite(1, labels)], [anEntry(1, labels), anEntry(2, labels)], ['entry 2']],
  ])('%s', (_case, writes, entries, problems) => {
    expect(found(writes, entries)).toEqual(problems);
  });

  it.each(Object.entries(falsehoods()))('one false statement in a history of any length: %s', (_case, tamper) => {
    fc.assert(
      fc.property(trueHistories({ areUnique: true }), fc.nat(), (history, pick) => {
        const lie = tamper(history, pick);
        fc.pre(lie !== null);
        expect(found(lie.writes, lie.entries)).toEqual(lie.problems);
      }),
    );
  });
});

/** A history that is no longer true, and the problem it must show. Null where nothing can be falsified. */
type Falsehood = (history: TrueHistory, pick: number) => (TrueHistory & { problems: string[] }) | null;

function falsehoods(): Record<string, Falsehood> {
  const without = <T>(items: readonly T[], gone: T): T[] => items.filter((item) => item !== gone);
  const picked = <T>(items: readonly T[], pick: number): T | undefined => items[pick % items.length];
  const writeOf = ({ writes }: TrueHistory, { id }: AuditEntry) => writes.find(({ seq }) => seq === id);
  const answered = ({ entries }: TrueHistory) => entries.filter(({ state }) => state === 'completed');
  const arrived = (history: TrueHistory) => history.entries.filter((entry) => writeOf(history, entry) !== undefined);

  const changed =
    (choose: (history: TrueHistory) => AuditEntry[], change: (entry: AuditEntry) => AuditEntry[]): Falsehood =>
    (history, pick) => {
      const chosen = picked(choose(history), pick);
      if (chosen === undefined) return null;
      const entries = history.entries.flatMap((entry) => (entry === chosen ? change(entry) : [entry]));
      return { writes: history.writes, entries, problems: [`write ${chosen.id}`] };
    };

  return {
    'a write that was answered is lost': (history, pick) => {
      const entry = picked(answered(history), pick);
      if (entry === undefined) return null;
      const writes = history.writes.filter(({ seq }) => seq !== entry.id);
      return { writes, entries: history.entries, problems: [`entry ${entry.id}`] };
    },
    'a write has no entry': changed(arrived, () => []),
    'a write is said to be refused': changed(arrived, (entry) => [{ ...entry, state: 'refused' }]),
    'a write is said not to have arrived': changed(
      (history) => arrived(history).filter((entry) => writeOf(history, entry)?.actionError === null),
      (entry) => [{ ...entry, ...settled(false) }],
    ),
    'a write is sent twice': ({ writes, entries }, pick) => {
      const write = picked(writes, pick);
      if (write === undefined) return null;
      const again = { ...write, seq: 99, actionId: write.actionId === null ? null : 99 };
      const later = writes.flatMap((each) => (each === write ? [each, again] : [each]));
      return { writes: later, entries, problems: ['write 99'] };
    },
    'an answer is invented': ({ writes, entries }, pick) => {
      const at = pick % (entries.length + 1);
      return { writes, entries: entries.toSpliced(at, 0, anEntry(99)), problems: ['entry 99'] };
    },
    'two answers are in another order than their writes': (history, pick) => {
      const [one, other] = answered(history).slice(pick % Math.max(1, answered(history).length - 1)) as AuditEntry[];
      if (one === undefined || other === undefined) return null;
      const between = history.writes.filter(({ seq }) => seq > one.id && seq < other.id);
      if (between.length > 0) return null; // all of these would then be in another order, too
      const entries = without(history.entries, one).flatMap((entry) => (entry === other ? [other, one] : [entry]));
      return { writes: history.writes, entries, problems: [`write ${other.id}`, `entry ${other.id}`] };
    },
  };
}

describe('the replay of the log', () => {
  it('counts the most records that a team ever held, even if they were deleted later', () => {
    const body = { records: [1, 2, 3].map((number) => ({ value: `192.0.2.${number}` })) };

    const { peaks, sets } = replay([{ ...aWrite(1), body }, aWrite(2, aDelete), aWrite(3)]);

    expect(peaks).toEqual(new Map([['acme', { records: 3, seq: 1 }]]));
    expect([...sets.values()].map(({ records }) => records.length)).toEqual([1]);
  });

  it('leaves out writes whose action failed', () => {
    expect(replay([aWrite(1, { hasFailed: true })]).sets.size).toBe(0);
  });
});
