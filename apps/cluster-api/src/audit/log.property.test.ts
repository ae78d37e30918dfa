import { asTeamId } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type AuditFilters,
  type AuditPage,
  type AuditPosition,
  type AuditQuery,
  type AuditRecord,
  type AuditSource,
  auditLog,
  compareEntries,
} from './log.js';

const noFilters: AuditFilters = {
  kind: null,
  action: null,
  outcome: null,
  name: null,
  type: null,
  token: null,
  actor: null,
  from: null,
  to: null,
};

const recordAt = (position: AuditPosition): AuditRecord => ({
  ...position,
  kind: 'cluster',
  action: 'cluster.declare',
  outcome: 'completed',
  requestId: null,
  changes: null,
  detail: {},
  dns: null,
  actor: { kind: 'service', id: null, name: null },
  target: { kind: 'Cluster', id: 'c', name: 'web' },
});
const nameOf = ({ source, number }: AuditPosition): string => `${source}-${number}`;

/** A log in memory. `shrink` limits the length of its pages, as large bodies do. */
function logOf(source: AuditSource, entries: AuditRecord[], shrink: () => number) {
  return async ({ after, limit }: AuditQuery): Promise<AuditPage> => {
    const behind = entries
      .filter((entry) => entry.source === source)
      .filter(
        ({ createdAt, number }) =>
          after === null ||
          createdAt < after.createdAt ||
          (createdAt.getTime() === after.createdAt.getTime() && number < after.number),
      )
      .sort(compareEntries);
    const records = behind.slice(0, Math.max(1, Math.min(limit, shrink())));
    return { records, hasMore: records.length < behind.length };
  };
}

/** Few distinct times, so that many entries share one. */
const moments = fc.array(fc.record({ source: fc.constantFrom<AuditSource>('api', 'dns'), at: fc.nat(5) }), {
  maxLength: 40,
});
const entriesOf = (times: readonly { source: AuditSource; at: number }[], from: number): AuditRecord[] =>
  times.map(({ source, at }, index) =>
    recordAt({ source, createdAt: new Date(1_000 * at), number: BigInt(from + index) }),
  );

describe('the merged log', () => {
  it('shows each entry once and newest first, with any page size and while entries are added', async () => {
    await fc.assert(
      fc.asyncProperty(
        moments,
        moments,
        fc.integer({ min: 1, max: 7 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 5 })),
        async (old, fresh, limit, sizes) => {
          const entries = entriesOf(old, 1);
          const known = entries.toSorted(compareEntries).map(nameOf);
          const shrink = () => sizes.next().value as number;
          const log = auditLog({ api: logOf('api', entries, shrink), dns: logOf('dns', entries, shrink) });
          const late = entriesOf(fresh, 1_000);
          const seen: AuditRecord[] = [];

          for (let after: AuditPosition | null = null, hasMore = true; hasMore; ) {
            const page: AuditPage = await log.readPage(asTeamId('team'), noFilters, after, limit);
            expect(page.records.length).toBeLessThanOrEqual(limit);
            expect(page.records.length > 0 || !page.hasMore).toBe(true);
            seen.push(...page.records);
            after = page.records.at(-1) ?? null;
            hasMore = page.hasMore;
            entries.push(...late.splice(0, 2));
          }

          expect(seen.map(nameOf).filter((name) => known.includes(name))).toEqual(known);
          expect(seen.map(nameOf)).toEqual(seen.toSorted(compareEntries).map(nameOf));
          expect(new Set(seen.map(nameOf)).size).toBe(seen.length);
        },
      ),
    );
  });

  it('is exported page by page, without reading ahead', async () => {
    const entries = entriesOf(
      Array.from({ length: 30 }, (_, at) => ({ source: at % 3 === 0 ? ('api' as const) : ('dns' as const), at })),
      1,
    );
    let pages = 0;
    const read = logOf('dns', entries, () => 4);
    const log = auditLog({
      api: logOf('api', entries, () => 4),
      dns: (query) => {
        pages += 1;
        return read(query);
      },
    });

    const all = log.readAll(asTeamId('team'), noFilters);
    const first = await all.next();
    expect(pages).toBe(1);
    const rest: AuditRecord[] = [];
    for await (const records of all) rest.push(...records);

    expect([...(first.value as AuditRecord[]), ...rest].map(nameOf)).toEqual(
      entries.toSorted(compareEntries).map(nameOf),
    );
  });

  it('is one empty page when both logs are empty', async () => {
    const log = auditLog({ api: logOf('api', [], () => 1), dns: logOf('dns', [], () => 1) });

    const pages: unknown[] = [];
    for await (const records of log.readAll(asTeamId('team'), noFilters)) pages.push(records);

    expect(pages).toEqual([[]]);
  });
});
