import type { Action, DemoBody, Pagination, Rrset, TokenBody, Zone } from './answers.js';

const at = '2026-11-21T12:00:00Z';
const zone: Zone = {
  id: 7001,
  name: 'example.test',
  created: at,
  mode: 'primary',
  ttl: 3600,
  labels: {},
  protection: { delete: false },
  primary_nameservers: [],
  registrar: 'other',
  status: 'ok',
  record_count: 12,
  authoritative_nameservers: {
    assigned: ['ns1.example.net.'],
    delegated: ['ns1.example.net.'],
    delegation_last_check: at,
    delegation_status: 'valid',
  },
};
const rrset: Rrset = {
  id: 'www.acme/A',
  name: 'www.acme',
  type: 'A',
  ttl: 300,
  labels: { env: 'prod' },
  protection: { change: false },
  records: [{ value: '192.0.2.7', comment: 'blue' }],
  zone: 7001,
};
const action: Action = {
  id: 91,
  command: 'set_rrset_records',
  status: 'running',
  progress: 0,
  started: at,
  finished: null,
  resources: [{ id: 7001, type: 'zone' }],
  error: null,
};
const demo: DemoBody = {
  label: 'blue-otter',
  name: 'Blue Otter',
  zone: 'demo.example.test',
  ttl: 14_400,
  created_at: at,
  expires_at: '2026-11-21T16:00:00Z',
  max_expires_at: '2026-11-28T12:00:00Z',
  records: 1,
};
const token: TokenBody = {
  id: '0b5c0a52-6a8f-4f0e-9b62-3c1f6f7f1c11',
  name: 'certificates',
  kind: 'team',
  scopes: ['dns'],
  created_at: at,
  expires_at: '2027-06-30T00:00:00Z',
  team: 'acme',
  demo: null,
  endpoint: 'https://dns.example.test/v1',
  zone: { id: 7001, name: 'example.test' },
  names: ['_acme-challenge.acme'],
  types: ['TXT'],
  requests: {
    per_token: { limit: 120, remaining: 119, reset_at: '2026-11-21T12:00:01Z' },
    per_team: { limit: 600, remaining: 588, reset_at: '2026-11-21T12:00:02Z' },
  },
  records: { used: 17, reserved: 0, limit: 200, limit_per_rrset: 50 },
};
const pagination: Pagination = {
  page: 1,
  per_page: 25,
  previous_page: null,
  next_page: null,
  last_page: 1,
  total_entries: 1,
};

/** Examples of answers, by the name of their schema in the document. Answers that wrap these have none of their own. */
export const dnsAnswerExamples: Readonly<Record<string, object>> = {
  Zone: zone,
  Rrset: rrset,
  Action: action,
  Demo: demo,
  Token: token,
  Pagination: pagination,
  DemoCreated: { demo: { ...demo, records: 0 }, token: 'x'.repeat(64) },
  ErrorBody: {
    code: 'invalid_input',
    message: 'records[0].value is required',
    details: { fields: [{ name: 'records[0].value', messages: ['is required'] }] },
  },
};

const records = [{ value: '192.0.2.7', comment: 'blue' }];

/** Examples of request bodies, by operation. */
export const dnsRequestExamples: Readonly<Record<string, object>> = {
  createRrset: { name: 'www.acme', type: 'A', ttl: 300, labels: { env: 'prod' }, records },
  updateRrset: { labels: { env: 'test' } },
  setRecords: { records },
  addRecords: { records: [{ value: '192.0.2.8' }] },
  removeRecords: { records: [{ value: '192.0.2.8' }] },
  changeTtl: { ttl: 60 },
  createDemo: { name: 'Blue Otter', ttl: 3_600 },
  extendDemo: { ttl: 3_600 },
};
