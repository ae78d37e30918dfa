import { clusterLimits } from '../limits.js';
import { type ClusterRoute, route, team } from '../route.js';
import { adoptedServerPostSchema } from './adopted-server.js';

const servers = `${team}/connections/{ref}/adopted-servers/`;

export const adoptedServerRoutes = [
  {
    ...route('listProjectServers', 'get', `${team}/connections/{ref}/project-servers/`, 'admin'),
    summary: `List servers in the cloud project of a connection by name, without nodes of clusters: the first ${clusterLimits.projectServersListed}`,
    answers: { 200: 'projectServerList' },
    problems: ['connection_rejected', 'upstream_unavailable'],
  },
  {
    ...route('getProjectServer', 'get', `${team}/connections/{ref}/project-servers/{server_id}/`, 'admin'),
    summary: 'Look up a server in the cloud project of a connection before it is adopted',
    answers: { 200: 'projectServer' },
    problems: ['connection_rejected', 'upstream_unavailable'],
  },
  {
    ...route('listAdoptedServers', 'get', servers, 'viewer'),
    summary: 'List the adopted servers of a connection, by number',
    answers: { 200: 'adoptedServerList' },
  },
  {
    ...route('adoptServer', 'post', servers, 'admin'),
    summary: 'Adopt a server: its operating system is rebuilt or replaced, and its data destroyed',
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
    ...route('getAdoptedServer', 'get', `${servers}{server_id}/`, 'viewer'),
    summary: 'Show one adopted server',
    answers: { 200: 'adoptedServer' },
  },
  {
    ...route('deregisterServer', 'delete', `${servers}{server_id}/`, 'admin'),
    summary: 'Detach a server; it is neither deleted nor powered off',
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
    ...route('issueJoinCommand', 'post', `${servers}{server_id}/join-command/`, 'admin'),
    summary: 'Issue a command that joins a dedicated or onprem machine as a node; its token is valid for 15 minutes',
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
