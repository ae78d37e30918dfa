import { type ClusterRoute, route, team } from '../route.js';
import { hostedNamePostSchema } from './hosted-name.js';

const names = `${team}/clusters/{cluster}/names/`;

/** Names on clusters. Each puts a lasting DNS token into a cluster, so only people add and remove them. */
export const hostedNameRoutes = [
  {
    ...route('listHostedNames', 'get', names, 'viewer'),
    summary: 'List the names on a cluster',
    answers: { 200: 'hostedNameList' },
  },
  {
    ...route('addHostedName', 'post', names, 'member'),
    summary: 'Put a name of the team on a cluster, which then writes its records and gets its certificates',
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
    ...route('getHostedName', 'get', `${names}{host}/`, 'viewer'),
    summary: 'Show a name on a cluster, and what it waits for',
    answers: { 200: 'hostedName' },
  },
  {
    ...route('removeHostedName', 'delete', `${names}{host}/`, 'member'),
    summary: 'Take a name off a cluster: its DNS token ends now, and its objects are removed',
    endsAccess: true,
    people: true,
    answers: { 202: 'hostedName' },
  },
] as const satisfies readonly ClusterRoute[];
