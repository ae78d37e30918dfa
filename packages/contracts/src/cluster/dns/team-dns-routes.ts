import { type ClusterQueryParameter, type ClusterRoute, dryRun, paging, team } from '../route.js';
import { auditKinds, auditOutcomes } from './audit-entry.js';
import { dnsTokenPostSchema, dnsTokenStates } from './dns-token.js';
import { undoEntriesSchema, undoEntrySchema } from './undo.js';

const tokens = `${team}/dns-tokens/`;

const auditFilters: readonly ClusterQueryParameter[] = [
  { name: 'kind', type: 'string', description: 'Kind of the target.', values: auditKinds },
  { name: 'action', type: 'string', description: 'Exact action, such as `dns.create`.' },
  { name: 'outcome', type: 'string', description: 'Outcome of the action.', values: auditOutcomes },
  { name: 'name', type: 'string', description: 'Name of the target, such as a record set, cluster or token.' },
  { name: 'type', type: 'string', description: 'Record type. Returns only DNS writes.' },
  { name: 'token', type: 'string', description: 'Id or name of the DNS token that was used.' },
  {
    name: 'actor',
    type: 'string',
    description: 'E-mail address of a user; or `user`, `token`, `service`, `upstream`, `course`, `account`.',
  },
  { name: 'request_id', type: 'string', description: '`X-Correlation-Id` of the answer to a request.' },
  { name: 'from', type: 'time', description: 'Entries at or after this time.' },
  { name: 'to', type: 'time', description: 'Entries before this time.' },
];

/** DNS tokens and usage of a team, and its audit log. */
export const teamDnsRoutes = [
  {
    operationId: 'listDnsTokens',
    method: 'get',
    path: tokens,
    summary: 'List the caller’s DNS tokens, newest first; an administrator sees all of the team',
    access: 'viewer',
    people: true,
    answers: { 200: 'dnsTokenList' },
    query: [{ name: 'state', type: 'string', description: 'State of the token.', values: dnsTokenStates }, ...paging],
  },
  {
    operationId: 'createDnsToken',
    method: 'post',
    path: tokens,
    summary: 'Create a DNS token and show it, only once',
    access: 'member',
    people: true,
    answers: { 201: 'createdDnsToken' },
    problems: ['quota_exceeded'],
    body: dnsTokenPostSchema,
    idempotent: true,
  },
  {
    operationId: 'getDnsToken',
    method: 'get',
    path: `${tokens}{id}/`,
    summary: 'Show one DNS token, without its text',
    access: 'viewer',
    people: true,
    answers: { 200: 'dnsToken' },
  },
  {
    operationId: 'revokeDnsToken',
    method: 'delete',
    path: `${tokens}{id}/`,
    summary: 'Revoke a DNS token permanently; gateways refuse it within 2 s',
    access: 'member',
    endsAccess: true,
    people: true,
    answers: { 204: null },
  },
  {
    operationId: 'startDnsSession',
    method: 'post',
    path: `${team}/dns-session/`,
    summary:
      'Issue a DNS token of 15 minutes that ends with the caller’s session or token; that of a viewer only reads',
    access: 'viewer',
    answers: { 201: 'dnsSession' },
  },
  {
    operationId: 'getDnsUsage',
    method: 'get',
    path: `${team}/dns-usage/`,
    summary: 'Show the team’s usage of its DNS quotas, and the remaining upstream budget',
    access: 'viewer',
    answers: { 200: 'dnsUsage' },
  },
  {
    operationId: 'listRecordSetChanges',
    method: 'get',
    path: `${team}/record-set-changes/`,
    summary: 'List when each record set of the team was last changed, and by whom',
    access: 'viewer',
    answers: { 200: 'recordSetChanges' },
  },
  {
    operationId: 'listDanglingRecordSets',
    method: 'get',
    path: `${team}/dangling-record-sets/`,
    summary: 'List record sets that lead to an address which a cluster or server of the team had and which is gone',
    access: 'viewer',
    answers: { 200: 'danglingRecordSetList' },
  },
  {
    operationId: 'listAudit',
    method: 'get',
    path: `${team}/audit/`,
    summary: 'List the team’s audit log for both APIs, newest first',
    access: 'admin',
    answers: { 200: 'auditLog' },
    query: [...auditFilters, ...paging],
  },
  {
    operationId: 'exportAudit',
    method: 'get',
    path: `${team}/audit/export/`,
    summary: 'Export the audit log without pages, one entry per line',
    access: 'admin',
    answers: { 200: 'auditEntry' },
    lines: true,
    query: auditFilters,
  },
  {
    operationId: 'undoAuditEntry',
    method: 'post',
    path: `${team}/audit/{id}/undo/`,
    summary:
      'Take back what an entry of the audit log did; callers who are no administrators, only what they or DNS tokens of theirs did',
    access: 'member',
    partialFor: ['member', 'viewer'],
    answers: { 200: 'undoPlan', 202: 'undoPlan' },
    problems: ['undo_conflict', 'undo_impossible', 'precondition_failed', 'upstream_unavailable'],
    body: undoEntrySchema,
    bodyOptional: true,
    query: [dryRun],
  },
  {
    operationId: 'undoAudit',
    method: 'post',
    path: `${team}/audit/undo/`,
    summary:
      'Take back what a request did, or everything in a span of time; callers who are no administrators, only what they or DNS tokens of theirs did',
    access: 'member',
    partialFor: ['member', 'viewer'],
    answers: { 200: 'undoPlan', 202: 'undoPlan' },
    problems: ['undo_conflict', 'undo_impossible', 'precondition_failed', 'upstream_unavailable'],
    body: undoEntriesSchema,
    query: [dryRun],
  },
] as const satisfies readonly ClusterRoute[];
