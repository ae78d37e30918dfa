import { clusterLimits } from '../limits.js';
import { type ClusterRoute, team } from '../route.js';
import { adoptedServerPostSchema } from './adopted-server.js';

const servers = `${team}/connections/{ref}/adopted-servers/`;

export const adoptedServerRoutes = [
  {
    operationId: 'listProjectServers',
    method: 'get',
    path: `${team}/connections/{ref}/project-servers/`,
    summary: `List servers in the cloud project of a connection by name, without nodes of clusters: the first ${clusterLimits.projectServersListed}`,
    access: 'admin',
    answers: { 200: 'projectServerList' },
    problems: ['connection_rejected', 'upstream_unavailable'],
  },
  {
    operationId: 'getProjectServer',
    method: 'get',
    path: `${team}/connections/{ref}/project-servers/{server_id}/`,
    summary: 'Look up a server in the cloud project of a connection before it is adopted',
    access: 'admin',
    answers: { 200: 'projectServer' },
    problems: ['connection_rejected', 'upstream_unavailable'],
  },
  {
    operationId: 'listAdoptedServers',
    method: 'get',
    path: servers,
    summary: 'List the adopted servers of a connection, by number',
    access: 'viewer',
    answers: { 200: 'adoptedServerList' },
  },
  {
    operationId: 'adoptServer',
    method: 'post',
    path: servers,
    summary: 'Adopt a server: its operating system is rebuilt or replaced, and its data destroyed',
    access: 'admin',
    answers: { 202: 'adoptedServer' },
    problems: [
      'acknowledgement_required',
      'unsupported_by_garden',
      'connection_rejected',
      'server_claimed',
      'quota_exceeded',
      'upstream_unavailable',
    ],
    body: adoptedServerPostSchema,
    idempotent: true,
  },
  {
    operationId: 'getAdoptedServer',
    method: 'get',
    path: `${servers}{server_id}/`,
    summary: 'Show one adopted server',
    access: 'viewer',
    answers: { 200: 'adoptedServer' },
  },
  {
    operationId: 'deregisterServer',
    method: 'delete',
    path: `${servers}{server_id}/`,
    summary: 'Detach a server; it is neither deleted nor powered off',
    access: 'admin',
    answers: { 200: 'adoptedServerDryRun', 204: null },
    problems: ['server_claimed'],
    query: [
      {
        name: 'dryRun',
        type: 'boolean',
        description:
          '`true`: shows the server and the record sets that lead to it, without changing anything. It is a read: open to viewers, ' +
          'and to service accounts that may only `read`.',
      },
    ],
  },
  {
    operationId: 'issueJoinCommand',
    method: 'post',
    path: `${servers}{server_id}/join-command/`,
    summary: 'Issue a command that joins a dedicated or onprem machine as a node; its token is valid for 15 minutes',
    access: 'admin',
    answers: { 200: 'joinCommand' },
    problems: [
      'unsupported_by_garden',
      'server_not_joining',
      'cluster_not_ready',
      'cluster_deleting',
      'upstream_unavailable',
    ],
  },
] as const satisfies readonly ClusterRoute[];
