import { auditKinds, auditOutcomes } from './audit-entry.js';
import { dnsTokenPostSchema, dnsTokenStates } from './dns-token.js';
import { type ClusterQueryParameter, type ClusterRoute, paging, team } from './route.js';

const tokens = `${team}/dns-tokens/`;

const auditFilters: readonly ClusterQueryParameter[] = [
  { name: 'kind', type: 'string', description: 'What it is about.', values: auditKinds },
  { name: 'action', type: 'string', description: 'Exactly this action, such as `dns.create`.' },
  { name: 'outcome', type: 'string', description: 'What became of it.', values: auditOutcomes },
  { name: 'name', type: 'string', description: 'Name of the record set, cluster, token or whatever it is about.' },
  { name: 'type', type: 'string', description: 'Record type; leaves DNS writes only.' },
  { name: 'token', type: 'string', description: 'Id or name of the DNS token that was used.' },
  {
    name: 'actor',
    type: 'string',
    description: 'E-mail address of a user; or `user`, `token`, `service`, `upstream`, `course`.',
  },
  { name: 'from', type: 'time', description: 'Entries of this moment and later.' },
  { name: 'to', type: 'time', description: 'Entries before this moment.' },
];

/** What a team has of the DNS API, and the log of all that was done in its name. */
export const teamDnsRoutes = [
  {
    operationId: 'listDnsTokens',
    method: 'get',
    path: tokens,
    summary: 'The caller’s DNS tokens, newest first; an administrator sees all of the team',
    access: 'member',
    answers: { 200: 'dnsTokenList' },
    problems: [],
    query: [{ name: 'state', type: 'string', description: 'State of the token.', values: dnsTokenStates }, ...paging],
  },
  {
    operationId: 'createDnsToken',
    method: 'post',
    path: tokens,
    summary: 'Make a DNS token and show it, this once',
    access: 'member',
    answers: { 201: 'createdDnsToken' },
    problems: ['quota_exceeded'],
    body: dnsTokenPostSchema,
    idempotent: true,
  },
  {
    operationId: 'getDnsToken',
    method: 'get',
    path: `${tokens}{id}/`,
    summary: 'One DNS token, without its text',
    access: 'member',
    answers: { 200: 'dnsToken' },
    problems: [],
  },
  {
    operationId: 'revokeDnsToken',
    method: 'delete',
    path: `${tokens}{id}/`,
    summary: 'Revoke a DNS token for good; gateways refuse it within 2 s',
    access: 'member',
    answers: { 204: null },
    problems: [],
  },
  {
    operationId: 'getDnsUsage',
    method: 'get',
    path: `${team}/dns-usage/`,
    summary: 'What the team uses of its DNS quotas, and what is left of the upstream’s budget',
    access: 'member',
    answers: { 200: 'dnsUsage' },
    problems: [],
  },
  {
    operationId: 'listAudit',
    method: 'get',
    path: `${team}/audit/`,
    summary: 'What was done in the team’s name, over both APIs, newest first',
    access: 'admin',
    answers: { 200: 'auditLog' },
    problems: [],
    query: [...auditFilters, ...paging],
  },
  {
    operationId: 'exportAudit',
    method: 'get',
    path: `${team}/audit/export/`,
    summary: 'The same without pages: one entry per line, however many there are',
    access: 'admin',
    answers: { 200: 'auditEntry' },
    lines: true,
    problems: [],
    query: auditFilters,
  },
] as const satisfies readonly ClusterRoute[];
