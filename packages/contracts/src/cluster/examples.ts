import { apiVersion } from './states.js';

const at = '2026-11-21T12:00:00.000Z';
const later = '2026-11-21T12:07:30.000Z';
/** @param end four hexadecimal digits */
const idOf = (end: string): string => `0197b2f0-0000-7000-8000-00000000${end}`;
const operationId = '0197b2f0-3c5e-7d2a-9b41-6f0e8a1c2d34';
const ada = { id: 7, email: 'ada@acme.test', displayName: 'Ada' };

/** The head of every declared resource, apart from its name. */
const head = (id: string): object => ({ id, team: 'acme', createdAt: at, updatedAt: later });

const perHour = { minimum: '0.0213', maximum: '0.0639' };
const perMonth = { minimum: '13.1000', maximum: '39.3000' };
const costItem = {
  kind: 'nodePool',
  name: 'general',
  machineType: 'cpx31',
  minimum: 1,
  maximum: 3,
  hourly: perHour,
  monthly: perMonth,
  reason: null,
};
const costDifference = {
  hourly: { minimum: '0.0000', maximum: '0.1491' },
  monthly: { minimum: '0.0000', maximum: '91.7000' },
};
const condition = {
  type: 'Reconciled',
  status: 'True',
  reason: 'Converged',
  message: 'The cluster matches its specification.',
  lastTransitionTime: later,
};
const pool = {
  name: 'general',
  source: 'managed',
  machineType: 'cpx31',
  image: {},
  minimum: 1,
  maximum: 3,
  publicIP: true,
};
const cluster = {
  apiVersion,
  kind: 'Cluster',
  metadata: { name: 'web', ...head(idOf('c1c1')), generation: 2, observedGeneration: 2, etag: `"${idOf('c1c1')}.2.7"` },
  spec: {
    connectionRef: 'main',
    region: 'hel1',
    kubernetesVersion: '1.33.4',
    hibernated: false,
    controlPlaneHA: false,
    plan: 'payg',
    deletionProtection: false,
    network: { nodeCIDR: '10.250.0.0/16', podCIDR: '10.244.0.0/16', serviceCIDR: '10.96.0.0/16' },
    nodePools: [pool],
  },
  status: {
    phase: 'Ready',
    seedName: 'hel1-1',
    conditions: [condition],
    migrationPhase: null,
    cost: { currency: 'EUR', hourly: perHour, monthly: perMonth, items: [costItem], pricedAt: at },
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
const operation = {
  id: operationId,
  kind: 'cluster.update',
  target: { kind: 'Cluster', name: 'web', id: idOf('c1c1'), team: 'acme' },
  state: 'running',
  progress: 40,
  error: {},
  waiting: null,
  desiredHash: `sha256:${'5d'.repeat(32)}`,
  createdBy: ada,
  createdAt: at,
  updatedAt: later,
  self: `https://clusters.example.org/api/v1/teams/acme/operations/${operationId}/`,
};
const nodes = { before: { minimum: 1, maximum: 3 }, after: { minimum: 1, maximum: 10 } };
const poolEffect = {
  target: 'nodePool',
  pool: 'general',
  kind: 'scaled',
  nodes,
  fields: ['/spec/nodePools/0/maximum'],
  reason: 'The autoscaler keeps the number of nodes within the new range.',
};

const catalogue = {
  regions: [{ name: 'hel1', zones: ['hel1-dc2'], publicIPv4: { hourly: '0.0008', monthly: '0.5' } }],
  kubernetesVersions: [
    { version: '1.34.3', classification: 'supported', supportedUntil: '2027-02-28T00:00:00.000Z', newestOf: '1.34' },
  ],
  machineTypes: [
    {
      name: 'cpx31',
      cores: 4,
      memoryGiB: 8,
      architecture: 'amd64',
      regions: [{ name: 'hel1', hourly: '0.021', monthly: '13.1' }],
    },
  ],
  images: [
    {
      name: 'ubuntu',
      versions: [
        { version: '24.4.0', classification: 'supported', supportedUntil: null, architectures: ['amd64', 'arm64'] },
      ],
    },
  ],
  features: ['control-plane-ha'],
  network: {
    nodeCIDRs: ['10.250.0.0/16', '172.18.0.0/16', '192.168.128.0/17'],
    podCIDR: '10.244.0.0/16',
    serviceCIDR: '10.96.0.0/16',
  },
  limits: {
    clusters: { used: 2, limit: 20 },
    connections: { used: 1, limit: 50 },
    adoptedServers: { used: 0, limit: 50 },
    nodePoolsPerCluster: 20,
    nodesPerCluster: 100,
  },
  currency: 'EUR',
  pricedAt: '2026-11-21T04:00:00.000Z',
};

const serverSpec = {
  serverID: 42_017,
  serverType: 'cx22',
  location: 'hel1',
  architecture: 'amd64',
  serverKind: 'cloud',
};
const dnsToken = {
  id: idOf('d0d0'),
  name: 'external-dns',
  state: 'active',
  scopes: ['dns'],
  withinName: null,
  withinTypes: [],
  createdAt: at,
  createdBy: ada,
  expiresAt: null,
  lastUsedAt: at,
  revokedAt: null,
};
const pointingSet = { zone: 'example.org', name: 'www.acme', type: 'A', values: ['192.0.2.10'] };
const hostedName = {
  name: 'shop.acme',
  host: 'shop.acme.example.org',
  cluster: 'web',
  state: 'Ready',
  message: '',
  issuer: 'shop.acme',
  objects: [
    {
      kind: 'Deployment',
      apiVersion: 'apps/v1',
      namespace: 'corral-dns',
      name: 'shop-acme',
      images: ['registry.k8s.io/external-dns/external-dns:v0.22.0'],
    },
    { kind: 'ClusterIssuer', apiVersion: 'cert-manager.io/v1', namespace: null, name: 'shop.acme', images: [] },
  ],
  createdAt: at,
  createdBy: ada,
  checkedAt: at,
};
const auditEntry = {
  id: 'api-4711',
  kind: 'cluster',
  action: 'cluster.declare',
  outcome: 'completed',
  actor: { kind: 'user', id: '7', name: ada.email },
  target: { kind: 'Cluster', id: idOf('c1c1'), name: 'web' },
  requestId: '6f9d1a52-0b3e-4c8d-9a77-2c1e5d4b8f60',
  changes: [{ pointer: '/spec/kubernetesVersion', from: '1.33', to: '1.34' }],
  detail: { generation: 2 },
  dns: null,
  createdAt: at,
};
const www = (value: string) => ({ records: [{ value, comment: null }], ttl: 300, labels: {} });
const undoPlan = {
  dryRun: true,
  tag: 'JtqfRUQ2mUJ8bq0kU6cvGA',
  items: [
    {
      kind: 'recordSet',
      name: 'www.acme',
      type: 'A',
      entries: ['dns-4711'],
      state: 'planned',
      reason: null,
      now: www('192.0.2.3'),
      before: www('192.0.2.1'),
      to: www('192.0.2.1'),
      changedSince: [
        { id: 'dns-4720', action: 'dns.set_records', actor: { kind: 'token', name: 'external-dns' }, createdAt: at },
      ],
      overwrites: ['records'],
      calls: [
        {
          method: 'POST',
          url: 'https://dns.example.org/v1/zones/example.org/rrsets/www.acme/A/actions/set_records',
          body: { records: [{ value: '192.0.2.1' }] },
        },
      ],
      changes: [],
      effects: [],
      costDifference: null,
      operation: null,
    },
  ],
};
const usagePoint = {
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
};
const teamEvent = {
  id: 'NzQ1LjEyLjE3OTUzNDg4MDAwMDA',
  kind: 'NodePool',
  change: 'deleted',
  name: 'batch',
  targetId: idOf('b0b0'),
  parent: 'web',
  at,
  resource: null,
};

const narrowing = {
  clusters: ['ci-*'],
  actions: ['read', 'change'],
  dns: { withinName: 'ci.acme', withinTypes: ['A', 'TXT'] },
};
const trust = {
  issuer: 'https://token.actions.githubusercontent.com',
  audience: 'https://clusters.example.org',
  claims: { sub: 'repo:acme/infra:*', ref: 'refs/heads/main' },
  serviceAccount: 'ci',
};

const webhookSpec = { url: 'https://hooks.example.org/corral', kinds: ['Cluster', 'Operation'] };
const webhook = {
  apiVersion,
  kind: 'Webhook',
  metadata: { name: 'chat', ...head(idOf('b00c')) },
  spec: webhookSpec,
  status: { deliveredAt: at, failingSince: null, failures: 0, lastFailure: null, nextTryAt: null },
};
const webhookSecret = 'whsec_Zm9yLXRoZS1kb2N1bWVudGF0aW9uLW9ubHktLS0tLS0=';

const notifications = { kinds: ['failed_operations', 'ending_tokens'] };
const membership = { id: 3, slug: 'acme', name: 'Acme', role: 'admin' };
const member = {
  id: 12,
  user_id: 7,
  first_name: 'Ada',
  last_name: 'Byron',
  display_name: 'Ada Byron',
  role: 'admin',
  joined_at: at,
};
const invitation = {
  id: idOf('1e1e'),
  team: 3,
  email: 'grace@acme.test',
  role: 'member',
  invited_by: ada.email,
  is_accepted: false,
};
const invitationEnd = '2026-12-05T12:00:00.000Z';
const price = {
  id: 'price_1',
  product_name: 'Standard',
  human_readable_price: '49 € / month',
  payment_amount: '49.00',
  unit_amount: 4_900,
};
const subscription = {
  id: 'sub_815',
  display_name: 'Standard',
  start_date: at,
  billing_interval: 'month',
  current_period_start: at,
  current_period_end: '2026-12-21T12:00:00.000Z',
  cancel_at_period_end: false,
  status: 'active',
  quantity: 1,
  items: [{ id: 'si_1', price, quantity: 1 }],
};
const team = {
  id: 3,
  name: 'Acme',
  slug: 'acme',
  members: [member],
  invitations: [invitation],
  dashboard_url: 'https://clusters.example.org/a/acme/',
  is_admin: true,
  subscription,
  has_active_subscription: true,
};

/** Examples of answers, by the name of their schema in the document. Answers that wrap these have none of their own. */
export const clusterAnswerExamples: Readonly<Record<string, object>> = {
  Cluster: cluster,
  NodePool: { ...pool, autoscalerPriority: 10, status: { pet: false, backingReady: null } },
  Operation: operation,
  Cost: cluster.status.cost,
  CostDifference: costDifference,
  FieldChange: { pointer: '/spec/nodePools/0/maximum', from: 3, to: 10 },
  PoolEffect: poolEffect,
  ClusterEffect: {
    target: 'cluster',
    kind: 'upgraded',
    kubernetesVersion: { before: '1.33.7', after: '1.34.3' },
    fields: ['/spec/kubernetesVersion'],
    reason: 'The control plane is upgraded first, then all managed nodes are replaced.',
  },
  PointingRecordSet: pointingSet,
  DanglingRecordSet: {
    ...pointingSet,
    goneAt: at,
    reason: '192.0.2.10 was the load balancer web/edge of cluster web until 2026-11-21.',
  },
  DeletedThing: { kind: 'Node', name: 'general', count: null, note: 'From 1 to 3 servers of the type cpx31.' },
  Kubeconfig: {
    kubeconfig: 'apiVersion: v1\nkind: Config\n# clusters, contexts and a client certificate follow\n',
    expiresAt: '2026-11-21T13:00:00.000Z',
    scope: 'cluster-admin',
  },
  KubeconfigIssue: {
    ...{ issuedTo: ada, serviceAccount: null, scope: 'cluster-admin' },
    ...{ createdAt: at, expiresAt: later, ttlSeconds: 450, outcome: 'completed' },
  },
  HostedName: hostedName,
  Connection: {
    apiVersion,
    kind: 'Connection',
    metadata: {
      ref: 'main',
      name: 'Production',
      ...head(idOf('c0c0')),
      generation: 2,
      etag: `"${idOf('c0c0')}.2.tRjPbkUh1cGvN0fXyQ2kLw"`,
    },
    spec: { name: 'Production', provider: 'hcloud', providerConfig: {} },
    status: { phase: 'Ready', verifiedAt: at, message: '', project: null },
  },
  Catalogue: catalogue,
  ProjectServer: {
    serverID: 42_017,
    name: 'worker-1',
    serverType: 'cx22',
    location: 'hel1',
    architecture: 'amd64',
    state: 'running',
    adoptable: true,
    reason: null,
  },
  AdoptedServer: {
    apiVersion,
    kind: 'AdoptedServer',
    metadata: { name: 'worker-1', ...head(idOf('ad01')), serverID: 42_017, connectionRef: 'main' },
    spec: serverSpec,
    status: {
      phase: 'Joined',
      message: '',
      claimedBy: { cluster: 'web', nodePool: 'own' },
      operationId,
      adoptedAt: at,
      observedAt: at,
    },
  },
  JoinCommand: {
    joinCommand: "bash -s <<'END-OF-COMMAND'\n…\nEND-OF-COMMAND\n",
    nodeName: 'dedicated-321',
    cluster: 'web',
    expiresAt: at,
  },
  DnsToken: dnsToken,
  DnsSession: {
    endpoint: 'https://dns.example.org/v1',
    zone: 'example.org',
    token: 'QSDt7DAB9K6Qba2ditnBOdl0qpugfNTHQSDt7DAB9K6Qba2ditnBOdl0qpugfNTH',
    expiresAt: at,
  },
  DnsUsage: {
    records: { used: 12, reserved: 0, limit: 200 },
    tokens: { active: 1, limit: 5 },
    requests: { lastHour: 340, limitPerMinute: 600 },
    upstream: { limit: 3_600, remaining: 3_120, resetAt: at, observedAt: at },
  },
  RecordSetChanges: { items: [{ name: 'www.acme', type: 'A', changedAt: at, changedBy: auditEntry.actor }] },
  UsagePoint: usagePoint,
  SavedBySleep: { cluster: 'web', since: at, amount: '41.30', currency: 'EUR' },
  AuditEntry: auditEntry,
  UndoPlan: undoPlan,
  TeamEvent: teamEvent,
  ServiceAccount: {
    apiVersion,
    kind: 'ServiceAccount',
    metadata: { name: 'ci', ...head(idOf('acc0')) },
    spec: { role: 'member', narrowing },
  },
  AccountToken: { id: idOf('acc1'), createdAt: at, createdBy: ada, expiresAt: later, lastUsedAt: at, revokedAt: null },
  CreatedAccountToken: {
    id: idOf('acc1'),
    token: 'corral_Zm9yLXRoZS1kb2N1bWVudGF0aW9uLW9ubHktLS0tLS0',
    expiresAt: '2027-02-19T12:00:00.000Z',
  },
  TrustedIssuer: {
    apiVersion,
    kind: 'TrustedIssuer',
    metadata: { name: 'github', ...head(idOf('acc2')) },
    spec: trust,
  },
  Webhook: webhook,
  CreatedWebhook: { ...webhook, secret: webhookSecret },
  WebhookSecret: { secret: webhookSecret, previousUntil: later },
  TeamMembership: membership,
  Team: team,
  TeamMember: member,
  MemberRemoval: { dns_tokens: { revoked: [{ id: dnsToken.id, name: dnsToken.name }], handed_over: [] } },
  Invitation: invitation,
  SentInvitation: { ...invitation, created_at: at, expires_at: invitationEnd, mail_sent_at: at },
  ReceivedInvitation: { ...invitation, team_slug: 'acme', team_name: 'Acme', expires_at: invitationEnd },
  BillingOutcome: { outcome: 'applied' },
  Session: {
    id: idOf('5e55'),
    method: 'oidc',
    name: null,
    userAgent: 'Firefox/143.0',
    createdAt: at,
    lastSeenAt: at,
    expiresAt: '2026-11-22T00:00:00.000Z',
    current: true,
  },
  Notifications: notifications,
  IssuedToken: {
    access_token: 'Zm9yLXRoZS1kb2N1bWVudGF0aW9uLW9ubHktLS0tLS0',
    token_type: 'Cookie',
    expires_in: 604_800,
  },
  Me: {
    ...ada,
    session: { createdAt: at, expiresAt: '2026-11-28T12:00:00.000Z', idleExpiresAt: '2026-11-22T00:00:00.000Z' },
    teams: [membership],
  },
  Problem: {
    type: 'https://clusters.example.org/problems/validation_failed',
    title: 'Validation failed',
    status: 422,
    detail: 'spec.region is required.',
    code: 'validation_failed',
    instance: 'urn:uuid:6f9d1a52-0b3e-4c8d-9a77-2c1e5d4b8f60',
    operationId: null,
    errors: [
      {
        pointer: '/spec/region',
        code: 'validation_failed',
        message: 'is required',
        detail: 'spec.region is required.',
      },
    ],
  },
};

const project = { name: 'Production', provider: 'hcloud', token: 'the-token-of-a-cloud-project', providerConfig: {} };

/** Examples of request bodies, by operation. */
export const clusterRequestExamples: Readonly<Record<string, object>> = {
  putCluster: {
    spec: {
      connectionRef: 'main',
      region: 'hel1',
      kubernetesVersion: '1.33',
      nodePools: [{ name: 'general', machineType: 'cpx31', minimum: 1, maximum: 3 }],
    },
  },
  putNodePool: { spec: { name: 'general', machineType: 'cpx31', minimum: 1, maximum: 10 } },
  issueKubeconfig: { ttlSeconds: 600 },
  addHostedName: { name: 'shop.acme' },
  createConnection: { spec: project },
  putConnection: { spec: project },
  adoptServer: { spec: serverSpec, acknowledge: { confirm: 'WIPE' } },
  createDnsToken: { name: 'external-dns' },
  putServiceAccount: { spec: { role: 'member', narrowing } },
  createAccountToken: { expiresInDays: 90 },
  putTrustedIssuer: { spec: trust },
  putWebhook: { spec: webhookSpec },
  replayWebhook: { since: at },
  putNotifications: notifications,
  putTeam: { name: 'Acme Industries' },
  createInvitation: { email: 'grace@acme.test', role: 'member' },
  putMember: { role: 'admin' },
  takeBillingEvent: { id: 'evt_1', stated_at: at, team: 'acme', subscription, active: true },
  authorize: { request: 'from-the-page', decision: 'allow' },
  exchangeToken: {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    audience: 'acme/ci',
    subject_token: 'eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  },
  startDeviceSignIn: { client_id: 'corral-cli', device: 'build-server' },
  decideDeviceSignIn: { decision: 'allow' },
  devSignIn: { email: 'admin@acme.test' },
  undoAuditEntry: { overwrite: undoPlan.tag },
  undoAudit: { since: '2026-11-21T11:45:00Z', actor: ada.email },
};
