import type { Examples } from '../../openapi-parts.js';
import { catalogueExample } from '../clusters/catalogue.js';
import { apiVersion } from '../states.js';
import { accountAnswerExamples } from './account-examples.js';
import { clusterThingExamples } from './answer-examples.js';
import { peopleAnswerExamples } from './people-examples.js';

const at = '2026-11-21T12:00:00.000Z';
const one = (summary: string, value: unknown): Examples => ({ example: { summary, value } });
const page = (summary: string, item: unknown): Examples => one(summary, { items: [item], next: null });

const adoptedServer = {
  apiVersion,
  kind: 'AdoptedServer',
  metadata: {
    name: 'worker-1',
    id: '0197b2f0-0000-7000-8000-00000000ad01',
    serverID: 42_017,
    team: 'acme',
    connectionRef: 'main',
    createdAt: at,
    updatedAt: at,
  },
  spec: { serverID: 42_017, serverType: 'cx22', location: 'hel1', architecture: 'amd64', serverKind: 'cloud' },
  status: {
    phase: 'Joined',
    message: '',
    claimedBy: { cluster: 'web', nodePool: 'own' },
    operationId: '0197b2f0-3c5e-7d2a-9b41-6f0e8a1c2d34',
    adoptedAt: at,
    observedAt: at,
  },
};
const dnsToken = {
  id: '0197b2f0-0000-7000-8000-00000000d0d0',
  name: 'external-dns',
  state: 'active',
  scopes: ['dns'],
  withinName: null,
  withinTypes: [],
  createdAt: at,
  createdBy: { id: 7, email: 'ada@acme.test', displayName: 'Ada' },
  expiresAt: null,
  lastUsedAt: at,
  revokedAt: null,
};
const auditEntry = {
  id: 'api-4711',
  kind: 'cluster',
  action: 'cluster.declare',
  outcome: 'completed',
  actor: { kind: 'user', id: '7', name: 'ada@acme.test' },
  target: { kind: 'Cluster', id: '0197b2f0-0000-7000-8000-00000000c1c1', name: 'web' },
  requestId: '6f9d1a52-0b3e-4c8d-9a77-2c1e5d4b8f60',
  changes: [{ pointer: '/spec/kubernetesVersion', from: '1.33', to: '1.34' }],
  detail: { generation: 2 },
  dns: null,
  createdAt: at,
};
const dnsWrite = {
  id: 'dns-815',
  kind: 'dns',
  action: 'dns.set_records',
  outcome: 'completed',
  actor: { kind: 'token', id: dnsToken.id, name: dnsToken.name },
  target: { kind: 'Rrset', id: 'www.acme/A', name: 'www.acme' },
  requestId: null,
  changes: null,
  detail: {},
  createdAt: at,
  dns: {
    zone: 'example.test',
    name: 'www.acme',
    type: 'A',
    requestBody: { records: [{ value: '192.0.2.7' }] },
    upstreamStatus: 201,
    upstreamBody: { action: { id: 91 } },
    foundBody: null,
    foundApplied: null,
    requestBodyCut: null,
    upstreamBodyCut: null,
    foundBodyCut: null,
    beforeBody: { name: 'www.acme', type: 'A', ttl: 300, records: [{ value: '192.0.2.1' }] },
    beforeBodyCut: null,
    afterBody: { name: 'www.acme', type: 'A', ttl: 300, records: [{ value: '192.0.2.7' }] },
    afterBodyCut: null,
    count: 1,
    refusalCode: null,
    completedAt: at,
  },
};
/** Examples of answers, by schema name. */
export const clusterAnswerExamples: Readonly<Record<string, Examples>> = {
  ...clusterThingExamples,
  ...peopleAnswerExamples,
  ...accountAnswerExamples,
  adoptedServer: one('A server that is a node', adoptedServer),
  joinCommand: one('For a machine that will be the node `dedicated-321`', {
    joinCommand: "bash -s <<'END-OF-COMMAND'\n…\nEND-OF-COMMAND\n",
    nodeName: 'dedicated-321',
    cluster: 'web',
    expiresAt: at,
  }),
  adoptedServerList: one('The servers of a connection', [{ items: [adoptedServer] }]),
  dnsToken: one('A token, without its text', dnsToken),
  createdDnsToken: {
    created: { summary: 'The token, shown only once', value: { ...dnsToken, lastUsedAt: null, token: 'x'.repeat(64) } },
    repeated: { summary: 'Repeated with the same `Idempotency-Key`', value: { ...dnsToken, token: null } },
  },
  dnsTokenList: page('The tokens', dnsToken),
  catalogue: one('With the prices of a connection', catalogueExample),
  projectServer: one('A server that can be adopted', {
    serverID: 42_017,
    name: 'worker-1',
    serverType: 'cx22',
    location: 'hel1',
    architecture: 'amd64',
    state: 'running',
    adoptable: true,
    reason: null,
  }),
  dnsSession: one('A token for the session', {
    endpoint: 'https://dns.example.org/v1',
    zone: 'example.org',
    token: 'QSDt7DAB9K6Qba2ditnBOdl0qpugfNTHQSDt7DAB9K6Qba2ditnBOdl0qpugfNTH',
    expiresAt: at,
  }),
  dnsUsage: one('Usage', {
    records: { used: 12, reserved: 0, limit: 200 },
    tokens: { active: 1, limit: 5 },
    requests: { lastHour: 340, limitPerMinute: 600 },
    upstream: { limit: 3_600, remaining: 3_120, resetAt: at, observedAt: at },
  }),
  usage: one('Two hours, the first of which is a gap', {
    step: 'hour',
    from: '2026-11-21T10:00:00.000Z',
    to: '2026-11-21T12:00:00.000Z',
    points: [
      {
        from: '2026-11-21T10:00:00.000Z',
        complete: true,
        recordedHours: 0,
        requests: null,
        writes: null,
        refusedWrites: null,
        records: { used: null, limit: null },
        dnsTokens: null,
        clusters: null,
        nodes: null,
        cost: { currency: null, minimum: null, maximum: null },
      },
      {
        from: '2026-11-21T11:00:00.000Z',
        complete: true,
        recordedHours: 1,
        requests: 340,
        writes: 12,
        refusedWrites: 1,
        records: { used: 42, limit: 200 },
        dnsTokens: 2,
        clusters: 1,
        nodes: 2,
        cost: { currency: 'EUR', minimum: '13.6', maximum: '40.8' },
      },
    ],
  }),
  auditEntry: {
    cluster: { summary: 'Done over the cluster API', value: auditEntry },
    dns: { summary: 'A write of the DNS API', value: dnsWrite },
  },
  teamEvent: {
    pool: {
      summary: 'A pool was deleted',
      value: {
        id: 'NzQ1LjEyLjE3OTUzNDg4MDAwMDA',
        kind: 'NodePool',
        change: 'deleted',
        name: 'batch',
        targetId: '0197b2f0-0000-7000-8000-00000000b0b0',
        parent: 'web',
        at,
        resource: null,
      },
    },
    recordSet: {
      summary: 'A record set was created or changed',
      value: {
        id: 'NzQ2LjMxLjE3OTUzNDg4MDEyMzQ',
        kind: 'RecordSet',
        change: 'changed',
        name: 'web.acme',
        targetId: 'web.acme/A',
        parent: 'example.test',
        at,
        resource: {
          id: 'web.acme/A',
          name: 'web.acme',
          type: 'A',
          ttl: 300,
          labels: {},
          protection: { change: false },
          records: [{ value: '192.0.2.20', comment: '' }],
          zone: 7001,
        },
      },
    },
  },
  auditLog: one('The newest two', { items: [dnsWrite, auditEntry], next: 'WyJhIiwiYiJd' }),
};
