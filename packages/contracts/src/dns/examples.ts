import type { Examples } from '../openapi-parts.js';

const at = '2026-11-21T12:00:00Z';
const zone = {
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
const rrset = {
  id: 'www.acme/A',
  name: 'www.acme',
  type: 'A',
  ttl: 300,
  labels: { env: 'prod' },
  protection: { change: false },
  records: [{ value: '192.0.2.7', comment: 'blue' }],
  zone: 7001,
};
const running = {
  id: 91,
  command: 'set_rrset_records',
  status: 'running',
  progress: 0,
  started: at,
  finished: null,
  resources: [{ id: 7001, type: 'zone' }],
  error: null,
};
const done = { ...running, status: 'success', progress: 100, finished: '2026-11-21T12:00:01Z' };
const demo = {
  label: 'blue-otter',
  name: 'Blue Otter',
  zone: 'demo.example.test',
  ttl: 14_400,
  created_at: at,
  expires_at: '2026-11-21T16:00:00Z',
  max_expires_at: '2026-11-28T12:00:00Z',
  records: 1,
};
const token = {
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
const meta = {
  pagination: { page: 1, per_page: 25, previous_page: null, next_page: null, last_page: 1, total_entries: 1 },
};
const one = (summary: string, value: unknown): Examples => ({ example: { summary, value } });

/** Examples of answers, by schema name. */
export const dnsAnswerExamples: Readonly<Record<string, Examples>> = {
  zoneList: one('The zone, as a list', { zones: [zone], meta }),
  zone: one('The zone', { zone }),
  rrsetList: one('The team’s record sets', { rrsets: [rrset], meta }),
  rrset: one('A record set', { rrset }),
  created: one('Created. Poll the action until it is finished', {
    rrset,
    action: { ...running, command: 'create_rrset' },
  }),
  action: {
    running: { summary: 'Running', value: { action: running } },
    success: { summary: 'Done', value: { action: done } },
  },
  actionList: one('The requested actions that belong to the team', { actions: [done] }),
  actionPage: one('The team’s actions', { actions: [done], meta }),
  token: one('A token for the certificates of a team', { token }),
  demo: one('A demo', { demo }),
  createdDemo: one('A demo with its token, shown only once', { demo: { ...demo, records: 0 }, token: 'x'.repeat(64) }),
  demoList: one('The team’s live demos', { demos: [demo], meta }),
};

const records = [{ value: '192.0.2.7', comment: 'blue' }];

/** Examples of request bodies, by operation. */
export const dnsRequestExamples: Readonly<Record<string, Examples>> = {
  createRrset: {
    address: {
      summary: 'An address',
      value: { name: 'www.acme', type: 'A', ttl: 300, labels: { env: 'prod' }, records },
    },
    text: {
      summary: 'A TXT record with quoted text',
      value: { name: '_acme-challenge.acme', type: 'TXT', records: [{ value: '"key"' }] },
    },
  },
  updateRrset: one('Replace the labels', { labels: { env: 'test' } }),
  setRecords: one('Replace all records', { records }),
  addRecords: {
    add: { summary: 'Add one record', value: { records: [{ value: '192.0.2.8' }] } },
    create: {
      summary: 'With the TTL of a record set that does not exist yet',
      value: { records: [{ value: '192.0.2.8' }], ttl: 300 },
    },
  },
  removeRecords: one('Remove one record', { records: [{ value: '192.0.2.8' }] }),
  changeTtl: {
    own: { summary: 'A specific TTL', value: { ttl: 60 } },
    zone: { summary: 'The default TTL of the zone', value: { ttl: null } },
  },
  createDemo: {
    team: { summary: 'With a token', value: { name: 'Blue Otter', ttl: 3_600 } },
    course: { summary: 'With a course code instead of a token', value: { course_code: 'WORKSHOP' } },
  },
  extendDemo: one('One hour from now', { ttl: 3_600 }),
};
