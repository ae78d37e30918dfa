import { type ClusterRoute, team } from '../route.js';
import { hostedNamePostSchema } from './hosted-name.js';

const names = `${team}/clusters/{cluster}/names/`;

/** Names on clusters. Each puts a lasting DNS token into a cluster, so only people add and remove them. */
export const hostedNameRoutes = [
  {
    operationId: 'listHostedNames',
    method: 'get',
    path: names,
    summary: 'List the names on a cluster',
    access: 'viewer',
    answers: { 200: 'hostedNameList' },
  },
  {
    operationId: 'addHostedName',
    method: 'post',
    path: names,
    summary: 'Put a name of the team on a cluster, which then writes its records and gets its certificates',
    access: 'member',
    people: true,
    answers: { 200: 'hostedNameDryRun', 201: 'hostedName' },
    problems: ['name_taken', 'quota_exceeded', 'cluster_deleting'],
    body: hostedNamePostSchema,
    query: [
      {
        name: 'dryRun',
        type: 'boolean',
        description: '`true`: checks the request and shows what would be installed, without changing anything.',
      },
    ],
  },
  {
    operationId: 'getHostedName',
    method: 'get',
    path: `${names}{host}/`,
    summary: 'Show a name on a cluster, and what it waits for',
    access: 'viewer',
    answers: { 200: 'hostedName' },
  },
  {
    operationId: 'removeHostedName',
    method: 'delete',
    path: `${names}{host}/`,
    summary: 'Take a name off a cluster: its DNS token ends now, and its objects are removed',
    access: 'member',
    endsAccess: true,
    people: true,
    answers: { 202: 'hostedName' },
  },
] as const satisfies readonly ClusterRoute[];
