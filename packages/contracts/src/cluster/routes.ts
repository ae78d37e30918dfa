import { adoptedServerRoutes } from './adopted-server-routes.js';
import { eventRoutes } from './event-routes.js';
import type { ProblemCode } from './problem-codes.js';
import {
  clusterPutSchema,
  connectionPostSchema,
  connectionPutSchema,
  kubeconfigRequestSchema,
  nodePoolPutSchema,
} from './requests.js';
import { type ClusterQueryParameter, type ClusterRoute, paging, team } from './route.js';
import { signInRoutes } from './sign-in-routes.js';
import { connectionPhases, operationStates } from './states.js';
import { teamDnsRoutes } from './team-dns-routes.js';
import { teamRoutes } from './team-routes.js';

export type { ClusterQueryParameter, ClusterRoute, RouteAccess } from './route.js';

const dryRun: ClusterQueryParameter = {
  name: 'dryRun',
  type: 'boolean',
  description: '`true`: validates the request and shows what would change, without changing anything.',
};

const cluster = `${team}/clusters/{name}/`;
const pools = `${team}/clusters/{cluster}/node-pools/`;
const connection = `${team}/connections/{ref}/`;

const specProblems = [
  ...([
    'immutable_field',
    'invalid_network',
    'invalid_node_pool',
    'unsupported_version',
    'unsupported_by_garden',
  ] as const),
  ...(['last_node_pool', 'quota_exceeded', 'connection_rejected', 'cluster_deleting', 'upstream_unavailable'] as const),
  ...(['subscription_required', 'server_claimed'] as const),
] as const satisfies readonly ProblemCode[];

export const clusterRoutes = [
  {
    operationId: 'getMe',
    method: 'get',
    path: '/api/v1/me/',
    summary: 'Show the signed-in user and their teams',
    access: 'session',
    answers: { 200: 'me' },
    problems: [],
  },
  {
    operationId: 'listTeams',
    method: 'get',
    path: '/api/v1/teams/',
    summary: 'List the caller’s teams',
    access: 'session',
    answers: { 200: 'teamList' },
    problems: [],
    query: paging,
  },
  {
    operationId: 'listClusters',
    method: 'get',
    path: `${team}/clusters/`,
    summary: 'List the team’s clusters, by name',
    access: 'member',
    answers: { 200: 'clusterList' },
    problems: [],
    query: paging,
  },
  {
    operationId: 'putCluster',
    method: 'put',
    path: cluster,
    summary: 'Declare a cluster: create it, or change it to this specification',
    access: 'member',
    answers: { 200: 'cluster', 202: 'accepted' },
    problems: [...specProblems, 'precondition_failed'],
    body: clusterPutSchema,
    query: [dryRun],
    conditional: true,
  },
  {
    operationId: 'getCluster',
    method: 'get',
    path: cluster,
    summary: 'Show one cluster',
    access: 'member',
    answers: { 200: 'cluster', 304: null },
    problems: [],
  },
  {
    operationId: 'deleteCluster',
    method: 'delete',
    path: cluster,
    summary: 'Delete a cluster with its nodes, volumes and load balancers',
    access: 'member',
    answers: { 200: 'deletionDryRun', 202: 'accepted', 204: null },
    problems: ['precondition_failed'],
    query: [dryRun],
    conditional: true,
  },
  {
    operationId: 'hibernateCluster',
    method: 'post',
    path: `${cluster}hibernate/`,
    summary: 'Hibernate a cluster: its nodes are deleted, its volumes stay',
    access: 'member',
    answers: { 200: 'cluster', 202: 'accepted' },
    problems: ['cluster_deleting', 'connection_rejected', 'precondition_failed'],
    conditional: true,
    idempotent: true,
  },
  {
    operationId: 'resumeCluster',
    method: 'post',
    path: `${cluster}resume/`,
    summary: 'Resume a hibernated cluster',
    access: 'member',
    answers: { 200: 'cluster', 202: 'accepted' },
    problems: ['cluster_deleting', 'connection_rejected', 'precondition_failed'],
    conditional: true,
    idempotent: true,
  },
  {
    operationId: 'retryCluster',
    method: 'post',
    path: `${cluster}retry/`,
    summary: 'Retry the current specification after its operation failed',
    access: 'member',
    answers: { 200: 'cluster', 202: 'accepted' },
    problems: ['cluster_deleting', 'connection_rejected', 'precondition_failed'],
    conditional: true,
    idempotent: true,
  },
  {
    operationId: 'issueKubeconfig',
    method: 'post',
    path: `${cluster}kubeconfig/`,
    summary: 'Issue a short-lived kubeconfig with administrator access to the cluster',
    access: 'member',
    answers: { 200: 'kubeconfig' },
    problems: ['cluster_not_ready', 'cluster_deleting', 'upstream_unavailable', 'precondition_failed'],
    body: kubeconfigRequestSchema,
    bodyOptional: true,
    conditional: true,
  },
  {
    operationId: 'listNodePools',
    method: 'get',
    path: pools,
    summary: 'List the node pools of a cluster',
    access: 'member',
    answers: { 200: 'nodePoolList' },
    problems: [],
    query: paging,
  },
  {
    operationId: 'putNodePool',
    method: 'put',
    path: `${pools}{pool}/`,
    summary: 'Add a node pool, or change it to this specification',
    access: 'member',
    answers: { 200: 'nodePool', 201: 'nodePool' },
    problems: [...specProblems, 'precondition_failed'],
    body: nodePoolPutSchema,
    query: [dryRun],
    conditional: true,
  },
  {
    operationId: 'getNodePool',
    method: 'get',
    path: `${pools}{pool}/`,
    summary: 'Show one node pool',
    access: 'member',
    answers: { 200: 'nodePool' },
    problems: [],
  },
  {
    operationId: 'deleteNodePool',
    method: 'delete',
    path: `${pools}{pool}/`,
    summary: 'Drain and remove a node pool',
    access: 'member',
    answers: { 204: null },
    problems: ['last_node_pool', 'cluster_deleting', 'connection_rejected', 'precondition_failed'],
    conditional: true,
  },
  {
    operationId: 'listOperations',
    method: 'get',
    path: `${team}/operations/`,
    summary: 'List operations, newest first',
    access: 'member',
    answers: { 200: 'operationList' },
    problems: [],
    query: [
      { name: 'target', type: 'string', description: 'Name or id of the target.' },
      { name: 'state', type: 'string', description: 'State of the operation.', values: operationStates },
      ...paging,
    ],
  },
  {
    operationId: 'getOperation',
    method: 'get',
    path: `${team}/operations/{id}/`,
    summary: 'Show one operation',
    access: 'member',
    answers: { 200: 'operation' },
    problems: [],
  },
  {
    operationId: 'listConnections',
    method: 'get',
    path: `${team}/connections/`,
    summary: 'List the team’s connections to cloud projects',
    access: 'member',
    answers: { 200: 'connectionList' },
    problems: [],
    query: [{ name: 'phase', type: 'string', description: 'State of the connection.', values: connectionPhases }],
  },
  {
    operationId: 'createConnection',
    method: 'post',
    path: `${team}/connections/`,
    summary: 'Connect a cloud project, with a generated ref',
    access: 'admin',
    answers: { 201: 'connection' },
    problems: ['quota_exceeded'],
    body: connectionPostSchema,
    idempotent: true,
  },
  {
    operationId: 'putConnection',
    method: 'put',
    path: connection,
    summary: 'Connect a cloud project with this ref, or replace its name, settings and token',
    access: 'admin',
    answers: { 200: 'connection', 201: 'connection' },
    problems: ['immutable_field', 'connection_project_mismatch', 'quota_exceeded', 'precondition_failed'],
    body: connectionPutSchema,
    conditional: true,
  },
  {
    operationId: 'getConnection',
    method: 'get',
    path: connection,
    summary: 'Show one connection, without its token',
    access: 'member',
    answers: { 200: 'connection', 304: null },
    problems: [],
  },
  {
    operationId: 'deleteConnection',
    method: 'delete',
    path: connection,
    summary: 'Delete a connection and its token',
    access: 'admin',
    answers: { 204: null },
    problems: ['connection_in_use', 'precondition_failed'],
    conditional: true,
  },
  {
    operationId: 'verifyConnection',
    method: 'post',
    path: `${connection}verify/`,
    summary: 'Verify the token of a connection with the provider now',
    access: 'admin',
    answers: { 200: 'connection', 202: 'connectionAccepted' },
    problems: [],
    idempotent: true,
  },
  ...adoptedServerRoutes,
  ...eventRoutes,
  ...teamDnsRoutes,
  ...teamRoutes,
  ...signInRoutes,
] as const satisfies readonly ClusterRoute[];

export type ClusterOperationId = (typeof clusterRoutes)[number]['operationId'];

/** What a route can answer beside its own `problems`, by what it is. */
export function problemsOf(route: ClusterRoute): ProblemCode[] {
  const teamPath = route.access === 'member' || route.access === 'admin';
  const codes: ProblemCode[] = [
    ...(route.access === 'public' ? [] : (['authentication_required'] as const)),
    ...(teamPath ? (['not_found'] as const) : []),
    ...(route.access === 'admin' ? (['permission_denied'] as const) : []),
    ...(route.method === 'get' ? [] : (['cross_site_request'] as const)),
    ...(route.body === undefined ? [] : (['invalid_json', 'payload_too_large', 'unsupported_media_type'] as const)),
    ...(route.idempotent ? (['idempotency_key_reused'] as const) : []),
    ...route.problems,
    // `validation_failed`: every route refuses query parameters that it does not have.
    ...(['validation_failed', 'method_not_allowed', 'rate_limit_exceeded'] as const),
    ...(['service_unavailable', 'internal_error'] as const),
  ];
  return [...new Set(codes)];
}
