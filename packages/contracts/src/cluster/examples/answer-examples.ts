import type { Examples } from '../../openapi-parts.js';
import { apiVersion } from '../states.js';

const base = 'https://clusters.example.org/api/v1/teams/acme';
const at = '2026-11-21T12:00:00.000Z';
const later = '2026-11-21T12:07:30.000Z';
const clusterId = '0197b2f0-0000-7000-8000-00000000c1c1';
const operationId = '0197b2f0-3c5e-7d2a-9b41-6f0e8a1c2d34';

const perHour = { minimum: '0.0213', maximum: '0.0639' };
const perMonth = { minimum: '13.1000', maximum: '39.3000' };
const cost = {
  currency: 'EUR',
  hourly: perHour,
  monthly: perMonth,
  items: [
    {
      kind: 'nodePool',
      name: 'general',
      machineType: 'cpx31',
      minimum: 1,
      maximum: 3,
      hourly: perHour,
      monthly: perMonth,
      reason: null,
    },
  ],
  pricedAt: at,
};
const costDifference = {
  hourly: { minimum: '0.0000', maximum: '0.1491' },
  monthly: { minimum: '0.0000', maximum: '91.7000' },
};
const condition = (type: string, reason: string, message: string) => ({
  type,
  status: 'True',
  reason,
  message,
  lastTransitionTime: later,
});
const spec = {
  connectionRef: 'main',
  region: 'hel1',
  kubernetesVersion: '1.33.4',
  hibernated: false,
  controlPlaneHA: false,
  plan: 'payg',
  network: { nodeCIDR: '10.250.0.0/16', podCIDR: '10.244.0.0/16', serviceCIDR: '10.96.0.0/16' },
  nodePools: [
    {
      name: 'general',
      source: 'managed',
      machineType: 'cpx31',
      image: {},
      minimum: 1,
      maximum: 3,
      publicIP: true,
    },
  ],
};
const cluster = {
  apiVersion,
  kind: 'Cluster',
  metadata: {
    name: 'web',
    id: clusterId,
    team: 'acme',
    generation: 2,
    observedGeneration: 2,
    etag: `"${clusterId}.2.7"`,
    createdAt: at,
    updatedAt: later,
  },
  spec,
  status: {
    phase: 'Ready',
    seedName: 'hel1-1',
    conditions: [
      condition('SpecAccepted', 'Accepted', 'The specification was accepted.'),
      condition('ControlPlaneReady', 'Healthy', 'The control plane answers.'),
      condition('Reconciled', 'Converged', 'The cluster matches its specification.'),
    ],
    migrationPhase: null,
    cost,
    lastOperation: { id: operationId, kind: 'cluster.update', state: 'succeeded', error: {}, createdAt: at },
    kubernetes: { version: '1.33.7', supportedUntil: '2027-06-28T00:00:00.000Z' },
    apiServer: {
      url: 'https://api.c9f8e7d6.t1a2b3c4.example.org',
      certificateAuthorityData: 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUI…',
    },
    nodePools: [{ name: 'general', image: { name: 'ubuntu', version: '24.4.0' }, nodes: { ready: 2, total: 3 } }],
    maintenance: { next: '2026-11-22T01:00:00.000Z', last: { at, state: 'Succeeded' } },
  },
};
const accepted = {
  ...cluster,
  metadata: { ...cluster.metadata, generation: 3, etag: `"${clusterId}.3.8"` },
  status: {
    ...cluster.status,
    phase: 'Updating',
    lastOperation: { id: operationId, kind: 'cluster.update', state: 'queued', error: {}, createdAt: at },
  },
};
const operation = {
  id: operationId,
  kind: 'cluster.update',
  target: { kind: 'Cluster', name: 'web', id: clusterId, team: 'acme' },
  state: 'running',
  progress: 40,
  error: {},
  waiting: null,
  desiredHash: `sha256:${'5d'.repeat(32)}`,
  createdBy: { id: 7, email: 'ada@acme.test', displayName: 'Ada' },
  createdAt: at,
  updatedAt: later,
  self: `${base}/operations/${operationId}/`,
};
const failed = {
  ...operation,
  state: 'failed',
  error: {
    code: 'provider_quota_exceeded',
    message: 'The cloud project has no capacity for another server.',
    retryable: true,
    hint: 'Raise the limits of the cloud project or make the node pools smaller, then retry.',
  },
};
const nodePool = {
  name: 'general',
  source: 'managed',
  machineType: 'cpx31',
  image: {},
  minimum: 1,
  maximum: 3,
  publicIP: true,
  autoscalerPriority: 10,
  status: { pet: false, backingReady: null },
};
const ownPool = {
  name: 'own',
  source: 'pooled',
  machineType: 'cx22',
  image: {},
  minimum: 2,
  maximum: 3,
  publicIP: true,
  autoscalerPriority: 100,
  status: { pet: true, backingReady: 2 },
};
const savings = {
  hourly: { minimum: '-0.0213', maximum: '-0.0639' },
  monthly: { minimum: '-13.1000', maximum: '-39.3000' },
};
const [three, ten] = [
  { minimum: 1, maximum: 3 },
  { minimum: 1, maximum: 10 },
];
const maximumOf = (place: string) => ({
  changes: [{ pointer: `${place}/maximum`, from: 3, to: 10 }],
  effects: [
    {
      target: 'nodePool',
      pool: 'general',
      kind: 'scaled',
      nodes: { before: three, after: ten },
      fields: [`${place}/maximum`],
      reason: 'The autoscaler keeps the number of nodes within the new range.',
    },
  ],
});
/** The same cluster with a bigger machine type for its nodes, a second pool and another minor version. */
const upgrade = {
  changes: [
    { pointer: '/spec/kubernetesVersion', from: '1.33.4', to: '1.34' },
    { pointer: '/spec/nodePools/0/machineType', from: 'cpx31', to: 'cpx41' },
    { pointer: '/spec/nodePools/1', from: null, to: { ...spec.nodePools[0], name: 'burst' } },
  ],
  effects: [
    {
      target: 'cluster',
      kind: 'upgraded',
      kubernetesVersion: { before: '1.33.7', after: '1.34.3' },
      fields: ['/spec/kubernetesVersion'],
      reason: 'The control plane is upgraded first, then all managed nodes are replaced.',
    },
    {
      target: 'nodePool',
      pool: 'general',
      kind: 'replaced',
      nodes: { before: three, after: three },
      fields: ['/spec/nodePools/0/machineType', '/spec/kubernetesVersion'],
      reason: 'A rolling update replaces every node. Each is drained first.',
    },
    {
      target: 'nodePool',
      pool: 'burst',
      kind: 'added',
      nodes: { before: null, after: three },
      fields: ['/spec/nodePools/1'],
      reason: 'New nodes are created.',
    },
  ],
};
const connection = {
  apiVersion,
  kind: 'Connection',
  metadata: {
    ref: 'main',
    name: 'Production',
    id: '0197b2f0-0000-7000-8000-00000000c0c0',
    team: 'acme',
    generation: 2,
    etag: '"0197b2f0-0000-7000-8000-00000000c0c0.2.tRjPbkUh1cGvN0fXyQ2kLw"',
    createdAt: at,
    updatedAt: at,
  },
  spec: { name: 'Production', provider: 'hcloud', providerConfig: {} },
  status: { phase: 'Ready', verifiedAt: at, message: '', project: null },
};

const one = (summary: string, value: unknown): Examples => ({ example: { summary, value } });
const page = (summary: string, item: unknown): Examples => one(summary, { items: [item], next: null });
const nested = (summary: string, item: unknown): Examples => one(summary, [{ items: [item] }]);

/** Examples of clusters and related resources. */
export const clusterThingExamples: Readonly<Record<string, Examples>> = {
  cluster: one('A running cluster', cluster),
  clusterList: {
    last: { summary: 'The only page', value: { items: [cluster], next: null } },
    first: { summary: 'More items follow at the cursor', value: { items: [cluster], next: 'WyJ3ZWIiXQ' } },
  },
  accepted: one('The change is in progress', {
    operation: { ...operation, progress: 0, state: 'queued' },
    resource: accepted,
  }),
  clusterDryRun: {
    dryRun: {
      summary: 'What would change',
      value: { dryRun: true, resource: cluster, cost, costDifference, ...maximumOf('/spec/nodePools/0') },
    },
    dryRunOfUpgrade: {
      summary: 'An upgrade that replaces all nodes, and another pool',
      value: { dryRun: true, resource: cluster, cost, costDifference, ...upgrade },
    },
  },
  deletionDryRun: {
    dryRun: {
      summary: 'What would be deleted',
      value: {
        dryRun: true,
        resource: cluster,
        costDifference: savings,
        deletes: [
          { kind: 'Node', name: 'general', count: null, note: 'From 1 to 3 servers of the type cpx31.' },
          { kind: 'Volume', name: null, count: null, note: 'Their number is not known here.' },
        ],
        effects: [
          {
            target: 'cluster',
            kind: 'deleted',
            kubernetesVersion: { before: '1.33.7', after: null },
            fields: [],
            reason: 'The control plane is deleted, with all volumes and load balancers of the cluster.',
          },
          {
            target: 'nodePool',
            pool: 'general',
            kind: 'removed',
            nodes: { before: three, after: null },
            fields: [],
            reason: 'Its nodes are drained and deleted, with all data on their disks.',
          },
        ],
      },
    },
  },
  nodePool: {
    managed: { summary: 'A managed pool', value: nodePool },
    adopted: { summary: 'A pool on adopted servers, one of which is not ready', value: ownPool },
  },
  nodePoolList: page('The pools of a cluster', nodePool),
  nodePoolDryRun: {
    dryRun: {
      summary: 'What would change',
      value: { dryRun: true, resource: nodePool, cost, costDifference, ...maximumOf('/spec') },
    },
  },
  operation: {
    running: { summary: 'In progress', value: operation },
    failed: { summary: 'Failed, with what to do about it', value: failed },
  },
  operationList: page('Operations', operation),
  kubeconfigIssueList: one('One that ended, and one whose outcome is not known', {
    items: [
      {
        issuedTo: { id: 7, email: 'ada@acme.test', displayName: 'Ada' },
        createdAt: at,
        expiresAt: null,
        ttlSeconds: 3_600,
        outcome: 'pending',
      },
      {
        issuedTo: { id: 7, email: 'ada@acme.test', displayName: 'Ada' },
        createdAt: at,
        expiresAt: at,
        ttlSeconds: 600,
        outcome: 'completed',
      },
    ],
  }),
  kubeconfig: one('A credential with an expiry', {
    kubeconfig: 'apiVersion: v1\nkind: Config\n# clusters, contexts and a client certificate follow\n',
    expiresAt: '2026-11-21T13:00:00.000Z',
    scope: 'cluster-admin',
  }),
  connection: one('A verified connection', connection),
  connectionAccepted: one('The verification is queued', {
    operation: {
      ...operation,
      kind: 'connection.verify',
      state: 'queued',
      progress: 0,
      target: { kind: 'Connection', name: 'main', id: connection.metadata.id, team: 'acme' },
    },
    resource: connection,
  }),
  connectionList: nested('The team’s connections', connection),
};
