import { type ClusterQueryParameter, type ClusterRoute, dryRun, paging, route, team } from '../route.js';
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
    ...route('listDnsTokens', 'get', tokens, 'viewer'),
    summary: 'List the caller’s DNS tokens, newest first; an administrator sees all of the team',
    people: true,
    answers: { 200: 'dnsTokenList' },
    query: [{ name: 'state', type: 'string', description: 'State of the token.', values: dnsTokenStates }, ...paging],
  },
  {
    ...route('createDnsToken', 'post', tokens, 'member'),
    summary: 'Create a DNS token and show it, only once',
    people: true,
    answers: { 201: 'createdDnsToken' },
    problems: ['quota_exceeded'],
    body: dnsTokenPostSchema,
    idempotent: true,
  },
  {
    ...route('getDnsToken', 'get', `${tokens}{id}/`, 'viewer'),
    summary: 'Show one DNS token, without its text',
    people: true,
    answers: { 200: 'dnsToken' },
  },
  {
    ...route('revokeDnsToken', 'delete', `${tokens}{id}/`, 'member'),
    summary: 'Revoke a DNS token permanently; gateways refuse it within 2 s',
    endsAccess: true,
    people: true,
    answers: { 204: null },
  },
  {
    ...route('startDnsSession', 'post', `${team}/dns-session/`, 'viewer'),
    summary:
      'Issue a DNS token of 15 minutes that ends with the caller’s session or token; that of a viewer only reads',
    answers: { 201: 'dnsSession' },
  },
  {
    ...route('getDnsUsage', 'get', `${team}/dns-usage/`, 'viewer'),
    summary: 'Show the team’s usage of its DNS quotas, and the remaining upstream budget',
    answers: { 200: 'dnsUsage' },
  },
  {
    ...route('listRecordSetChanges', 'get', `${team}/record-set-changes/`, 'viewer'),
    summary: 'List when each record set of the team was last changed, and by whom',
    answers: { 200: 'recordSetChanges' },
  },
  {
    ...route('listDanglingRecordSets', 'get', `${team}/dangling-record-sets/`, 'viewer'),
    summary: 'List record sets that lead to an address which a cluster or server of the team had and which is gone',
    answers: { 200: 'danglingRecordSetList' },
  },
  {
    ...route('listAudit', 'get', `${team}/audit/`, 'admin'),
    summary: 'List the team’s audit log for both APIs, newest first',
    answers: { 200: 'auditLog' },
    query: [...auditFilters, ...paging],
  },
  {
    ...route('exportAudit', 'get', `${team}/audit/export/`, 'admin'),
    summary: 'Export the audit log without pages, one entry per line',
    answers: { 200: 'auditEntry' },
    lines: true,
    query: auditFilters,
  },
  {
    ...route('undoAuditEntry', 'post', `${team}/audit/{id}/undo/`, 'member'),
    summary:
      'Take back what an entry of the audit log did; callers who are no administrators, only what they or DNS tokens of theirs did',
    partialFor: ['member', 'viewer'],
    answers: { 200: 'undoPlan', 202: 'undoPlan' },
    problems: ['undo_conflict', 'undo_impossible', 'precondition_failed', 'upstream_unavailable'],
    body: undoEntrySchema,
    bodyOptional: true,
    query: [dryRun],
  },
  {
    ...route('undoAudit', 'post', `${team}/audit/undo/`, 'member'),
    summary:
      'Take back what a request did, or everything in a span of time; callers who are no administrators, only what they or DNS tokens of theirs did',
    partialFor: ['member', 'viewer'],
    answers: { 200: 'undoPlan', 202: 'undoPlan' },
    problems: ['undo_conflict', 'undo_impossible', 'precondition_failed', 'upstream_unavailable'],
    body: undoEntriesSchema,
    query: [dryRun],
  },
] as const satisfies readonly ClusterRoute[];
