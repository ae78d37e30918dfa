import { asTeamId, checkClusterAnswer } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type AuditPage,
  type AuditPosition,
  type AuditQuery,
  type AuditRecord,
  type AuditSource,
  auditLog,
  compareEntries,
  type DnsAuditRecord,
  noFilters,
} from './log.js';
import { auditBody } from './view.js';

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

it('the merged log shows each entry once and newest first, with any page size and while entries are added', async () => {
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

const dns: DnsAuditRecord = {
  zone: 'example.test',
  name: 'www.acme',
  type: 'A',
  requestBody: null,
  upstreamStatus: null,
  upstreamBody: null,
  foundBody: null,
  foundApplied: null,
  completedAt: null,
  requestCut: null,
  upstreamCut: null,
  foundCut: null,
  beforeCut: null,
  afterCut: null,
  beforeBody: null,
  afterBody: null,
  count: 1,
  refusalCode: null,
};
const dnsRecord = (of: Partial<DnsAuditRecord>): AuditRecord => ({
  source: 'dns',
  number: 9_007_199_254_740_993n,
  createdAt: new Date('2026-11-21T12:00:00Z'),
  kind: 'dns',
  action: 'dns.create',
  outcome: 'completed',
  requestId: null,
  changes: null,
  detail: {},
  actor: { kind: 'token', id: 't', name: 'ci' },
  target: { kind: 'Rrset', id: 'www.acme/A', name: 'www.acme' },
  dns: { ...dns, ...of },
});
const shown = (requestBody: string | null): unknown => {
  const body = auditBody(dnsRecord({ requestBody }));
  checkClusterAnswer.auditEntry(body);
  return JSON.parse(JSON.stringify(body)).dns.requestBody;
};
const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

it('an audit entry has an id of its log and its 64-bit number', () => {
  expect(auditBody(dnsRecord({})).id).toBe('dns-9007199254740993');
});

describe('a body in the audit log', () => {
  it.each<[string, string | null, unknown]>([
    ['is shown as parsed JSON', '{ "records": [ { "value": "192.0.2.1" } ] }', { records: [{ value: '192.0.2.1' }] }],
    ['is null when there was none', null, null],
    ['stays a string when it is not JSON', '<html>', '<html>'],
    ['stays a string when it is empty', '', ''],
    ['is parsed when it is nested 32 deep', nested(32), JSON.parse(nested(32))],
    ['stays a string when it is nested more than 32 deep', nested(40), nested(40)],
    ['stays a string when it is nested 300,000 deep', nested(300_000), nested(300_000)],
  ])('%s', (_what, text, expected) => {
    expect(shown(text)).toEqual(expected);
  });
});
