import { checkClusterAnswer } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import type { AuditRecord, DnsAuditRecord } from './log.js';
import { auditBody } from './view.js';

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
const record = (of: Partial<DnsAuditRecord>): AuditRecord => ({
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
  const body = auditBody(record({ requestBody }));
  checkClusterAnswer.auditEntry(body);
  return JSON.parse(JSON.stringify(body)).dns.requestBody;
};
const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe('an audit entry', () => {
  it('has an id of its log and its 64-bit number', () => {
    expect(auditBody(record({})).id).toBe('dns-9007199254740993');
  });
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
