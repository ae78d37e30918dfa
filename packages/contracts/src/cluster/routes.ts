import { accountRoutes } from './accounts/account-routes.js';
import type { ClusterAnswer } from './answers.js';
import { hostedNameRoutes } from './clusters/hosted-name-routes.js';
import {
  clusterPutSchema,
  connectionPostSchema,
  connectionPutSchema,
  kubeconfigRequestSchema,
  nodePoolPutSchema,
} from './clusters/requests.js';
import { teamDnsRoutes } from './dns/team-dns-routes.js';
import { signInRoutes } from './people/sign-in-routes.js';
import { teamRoutes } from './people/team-routes.js';
import type { ProblemCode } from './problem-codes.js';
import { type ClusterQueryParameter, type ClusterRoute, dryRun, paging, route, team } from './route.js';
import { adoptedServerRoutes } from './servers/adopted-server-routes.js';
import { clusterPhases, connectionPhases, operationKinds, operationStates } from './states.js';
import { usageRoutes } from './usage-routes.js';
import { webhookRoutes } from './webhooks/webhook-routes.js';

export type { ClusterQueryParameter, ClusterRoute, RouteAccess } from './route.js';

const cluster = `${team}/clusters/{name}/`;
const pools = `${team}/clusters/{cluster}/node-pools/`;
const connection = `${team}/connections/{ref}/`;

const connectionDryRun: ClusterQueryParameter = {
  ...dryRun,
  description:
    '`true`: asks the provider about the token and shows the connection as it would be, without storing anything. It is a read: open to ' +
    'viewers, and to service accounts that may only `read`.',
};

const specProblems = [
  'immutable_field',
  'invalid_network',
  'invalid_node_pool',
  'unsupported_version',
  'unsupported_by_garden',
  'last_node_pool',
  'quota_exceeded',
  'connection_rejected',
  'cluster_deleting',
  'upstream_unavailable',
  'subscription_required',
  'server_claimed',
] as const satisfies readonly ProblemCode[];

export const clusterRoutes = [
  {
    ...route('getMe', 'get', '/api/v1/me/', 'session'),
    summary: 'Show the signed-in user and their teams',
    answers: { 200: 'me' },
  },
  {
    ...route('listTeams', 'get', '/api/v1/teams/', 'session'),
    summary: 'List the caller’s teams',
    answers: { 200: 'teamList' },
    query: paging,
  },
  {
    ...route('listClusters', 'get', `${team}/clusters/`, 'viewer'),
    summary: 'List the team’s clusters, by name',
    ofClusters: 'filtered',
    answers: { 200: 'clusterList' },
    query: [
      {
        name: 'phase',
        type: 'string',
        description: 'Phases of the clusters; may be repeated.',
        values: clusterPhases,
        isRepeatable: true,
      },
      { name: 'connection', type: 'string', description: 'Reference of the connection.' },
      ...paging,
    ],
  },
  {
    ...route('putCluster', 'put', cluster, 'member'),
    summary: 'Declare a cluster: create it, or change it to this specification',
    answers: { 200: 'cluster', 202: 'accepted' },
    problems: [...specProblems, 'precondition_failed'],
    body: clusterPutSchema,
    query: [dryRun],
    conditional: true,
  },
  {
    ...route('getCluster', 'get', cluster, 'viewer'),
    summary: 'Show one cluster',
    answers: { 200: 'cluster', 304: null },
  },
  {
    ...route('deleteCluster', 'delete', cluster, 'member'),
    summary: 'Delete a cluster with its nodes, volumes and load balancers',
    answers: { 200: 'deletionDryRun', 202: 'accepted', 204: null },
    problems: ['deletion_protected', 'precondition_failed'],
    query: [dryRun],
    conditional: true,
  },
  {
    ...route('hibernateCluster', 'post', `${cluster}hibernate/`, 'member'),
    summary: 'Hibernate a cluster: its nodes are deleted, its volumes stay',
    answers: { 200: 'cluster', 202: 'accepted' },
    problems: ['cluster_deleting', 'connection_rejected', 'precondition_failed'],
    query: [dryRun],
    conditional: true,
    idempotent: true,
  },
  {
    ...route('resumeCluster', 'post', `${cluster}resume/`, 'member'),
    summary: 'Resume a hibernated cluster',
    answers: { 200: 'cluster', 202: 'accepted' },
    problems: ['cluster_deleting', 'connection_rejected', 'precondition_failed'],
    query: [dryRun],
    conditional: true,
    idempotent: true,
  },
  {
    ...route('retryCluster', 'post', `${cluster}retry/`, 'member'),
    summary: 'Retry the current specification after its operation failed',
    answers: { 200: 'cluster', 202: 'accepted' },
    problems: ['cluster_deleting', 'connection_rejected', 'precondition_failed'],
    conditional: true,
    idempotent: true,
  },
  {
    ...route('issueKubeconfig', 'post', `${cluster}kubeconfig/`, 'viewer'),
    summary: 'Issue a short-lived kubeconfig, for administration of the cluster or for reading it',
    partialFor: ['viewer'],
    answers: { 200: 'kubeconfig' },
    problems: [
      'cluster_not_ready',
      'cluster_deleting',
      'upstream_unavailable',
      'precondition_failed',
      'permission_denied',
    ],
    body: kubeconfigRequestSchema,
    bodyOptional: true,
    conditional: true,
  },
  {
    ...route('listKubeconfigIssues', 'get', `${cluster}kubeconfig/`, 'viewer'),
    summary: 'List to whom kubeconfigs of the cluster were issued, newest first',
    answers: { 200: 'kubeconfigIssueList' },
  },
  {
    ...route('listNodePools', 'get', pools, 'viewer'),
    summary: 'List the node pools of a cluster',
    answers: { 200: 'nodePoolList' },
    query: paging,
  },
  {
    ...route('putNodePool', 'put', `${pools}{pool}/`, 'member'),
    summary: 'Add a node pool, or change it to this specification',
    answers: { 200: 'nodePool', 201: 'nodePool' },
    problems: [...specProblems, 'precondition_failed'],
    body: nodePoolPutSchema,
    query: [dryRun],
    conditional: true,
  },
  {
    ...route('getNodePool', 'get', `${pools}{pool}/`, 'viewer'),
    summary: 'Show one node pool',
    answers: { 200: 'nodePool' },
  },
  {
    ...route('deleteNodePool', 'delete', `${pools}{pool}/`, 'member'),
    summary: 'Drain and remove a node pool',
    answers: { 200: 'nodePoolDryRun', 204: null },
    problems: ['last_node_pool', 'cluster_deleting', 'connection_rejected', 'precondition_failed'],
    query: [dryRun],
    conditional: true,
  },
  {
    ...route('listOperations', 'get', `${team}/operations/`, 'viewer'),
    summary: 'List operations, newest first',
    ofClusters: 'filtered',
    answers: { 200: 'operationList' },
    query: [
      { name: 'target', type: 'string', description: 'Name or id of the target.' },
      {
        name: 'state',
        type: 'string',
        description: 'States of the operations; may be repeated.',
        values: operationStates,
        isRepeatable: true,
      },
      {
        name: 'kind',
        type: 'string',
        description: 'Kinds of the operations; may be repeated.',
        values: operationKinds,
        isRepeatable: true,
      },
      ...paging,
    ],
  },
  {
    ...route('getOperation', 'get', `${team}/operations/{id}/`, 'viewer'),
    summary: 'Show one operation, now or when it has ended',
    ofClusters: 'filtered',
    answers: { 200: 'operation' },
  },
  {
    ...route('listConnections', 'get', `${team}/connections/`, 'viewer'),
    summary: 'List the team’s connections to cloud projects',
    answers: { 200: 'connectionList' },
    query: [{ name: 'phase', type: 'string', description: 'State of the connection.', values: connectionPhases }],
  },
  {
    ...route('createConnection', 'post', `${team}/connections/`, 'admin'),
    summary: 'Connect a cloud project, with a generated ref',
    answers: { 201: 'connection' },
    problems: ['quota_exceeded'],
    body: connectionPostSchema,
    query: [connectionDryRun],
    idempotent: true,
  },
  {
    ...route('putConnection', 'put', connection, 'admin'),
    summary: 'Connect a cloud project with this ref, or replace its name, settings and token',
    answers: { 200: 'connection', 201: 'connection' },
    problems: ['immutable_field', 'connection_project_mismatch', 'quota_exceeded', 'precondition_failed'],
    body: connectionPutSchema,
    query: [connectionDryRun],
    conditional: true,
  },
  {
    ...route('getConnection', 'get', connection, 'viewer'),
    summary: 'Show one connection, without its token',
    answers: { 200: 'connection', 304: null },
  },
  {
    ...route('deleteConnection', 'delete', connection, 'admin'),
    summary: 'Delete a connection and its token',
    answers: { 204: null },
    problems: ['connection_in_use', 'precondition_failed'],
    conditional: true,
  },
  {
    ...route('verifyConnection', 'post', `${connection}verify/`, 'admin'),
    summary: 'Verify the token of a connection with the provider now',
    answers: { 200: 'connection', 202: 'connectionAccepted' },
    idempotent: true,
  },
  ...hostedNameRoutes,
  ...adoptedServerRoutes,
  {
    ...route('getCatalogue', 'get', `${team}/catalogue/`, 'viewer'),
    summary: 'Show what the team may declare now: regions, versions, machine types with prices, images and limits',
    ofClusters: 'shared',
    answers: { 200: 'catalogue' },
    problems: ['upstream_unavailable'],
    query: [
      {
        name: 'connection',
        type: 'string',
        description: 'Ref of a connection of the team. Its prices are shown; without it all prices are null.',
      },
    ],
  },
  {
    ...route('streamTeamEvents', 'get', `${team}/events/`, 'viewer'),
    summary: 'Stream live changes of the team as Server-Sent Events',
    answers: { 200: 'teamEvent' },
    events: true,
  },
  ...usageRoutes,
  ...teamDnsRoutes,
  ...teamRoutes,
  ...accountRoutes,
  ...webhookRoutes,
  ...signInRoutes,
] as const satisfies readonly ClusterRoute[];

export type ClusterOperationId = (typeof clusterRoutes)[number]['operationId'];

/** The answers to dry runs, which are 200, by operation. */
export const dryRunAnswers: Readonly<Record<string, ClusterAnswer>> = {
  putCluster: 'clusterDryRun',
  deleteCluster: 'deletionDryRun',
  hibernateCluster: 'clusterDryRun',
  resumeCluster: 'clusterDryRun',
  putNodePool: 'nodePoolDryRun',
  deleteNodePool: 'nodePoolDryRun',
  createConnection: 'connectionDryRun',
  putConnection: 'connectionDryRun',
  deregisterServer: 'adoptedServerDryRun',
  addHostedName: 'hostedNameDryRun',
  putMember: 'memberDryRun',
  undoAuditEntry: 'undoPlan',
  undoAudit: 'undoPlan',
} satisfies Partial<Record<ClusterOperationId, ClusterAnswer>>;

/**
 * The dry runs of a route as a row of their own: they are reads, open to viewers unless they are about people. Null for a route without
 * them.
 */
export function dryRunOf(route: ClusterRoute): ClusterRoute | null {
  const answer = dryRunAnswers[route.operationId];
  const access = route.people === true ? route.access : 'viewer';
  return answer === undefined ? null : { ...route, access, answers: { 200: answer }, isDryRun: true };
}

/** All problems of a route: its own and those that follow from its properties. */
export function problemsOf(route: ClusterRoute): ProblemCode[] {
  const teamPath = route.access !== 'public' && route.access !== 'session';
  const codes: ProblemCode[] = [
    ...(route.access === 'public' ? [] : (['authentication_required'] as const)),
    ...(teamPath ? (['not_found'] as const) : []),
    // The role of a person, or the narrowing of a service account.
    ...(route.access === 'public' ? [] : (['permission_denied'] as const)),
    ...(route.method === 'get' ? [] : (['cross_site_request'] as const)),
    // A body is refused in this way even where the route takes none.
    ...(route.method === 'get' ? [] : (['invalid_json', 'payload_too_large', 'unsupported_media_type'] as const)),
    ...(route.idempotent ? (['idempotency_key_reused'] as const) : []),
    ...(route.problems ?? []),
    // `validation_failed`: every route rejects unknown query parameters.
    'validation_failed',
    'method_not_allowed',
    'rate_limit_exceeded',
    'service_unavailable',
    'internal_error',
  ];
  return [...new Set(codes)];
}
