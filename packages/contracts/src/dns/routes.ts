import type { BodyLimits } from '../body-limits.js';
import { actionStatuses, type DnsAnswer } from './answers.js';
import { type DnsErrorCode, dnsUpstreamErrors } from './error-codes.js';
import { dnsBodyLimits } from './limits.js';
import {
  addRecordsSchema,
  changeTtlSchema,
  createDemoSchema,
  createRrsetSchema,
  extendDemoSchema,
  recordsBodySchema,
  updateRrsetSchema,
} from './requests.js';

/**
 * One row of the DNS API. The gateway mounts exactly such rows; OpenAPI and the access tests are generated from them.
 */
export interface DnsRoute {
  readonly operationId: string;
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** Path below `/v1`, parameters in braces. */
  readonly path: string;
  readonly summary: string;
  readonly kind: 'read' | 'write';
  readonly status: number;
  /** Null for an answer without body. */
  readonly answer: DnsAnswer | null;
  /** Requests accepted without a token. Default: none. */
  readonly tokenless?: 'with a course code';
  /** Served to every valid token. Default: to those with the scope `dns`. */
  readonly anyScope?: true;
  readonly query?: readonly DnsQueryParameter[];
  readonly body?: object;
}

export interface DnsQueryParameter {
  readonly name: string;
  readonly description: string;
  readonly type: 'string' | 'integer';
  readonly repeatable?: boolean;
  readonly required?: boolean;
  readonly pattern?: string;
  readonly values?: readonly string[];
}

/** What lists can be sorted by: zones and record sets, and actions. */
export const sortFields = {
  sets: ['id', 'name', 'created'],
  actions: ['id', 'command', 'status', 'started', 'finished'],
} as const;
/** The pattern of `sort`; its groups are the field and the direction. */
export const sortPattern = (fields: readonly string[]): string => `^(${fields.join('|')})(?::(asc|desc))?$`;
const sortBy = (fields: readonly string[]) => {
  const names = fields.map((field) => `\`${field}\``);
  const description = `${names.slice(0, -1).join(', ')} or ${names.at(-1)}, with \`:asc\` or \`:desc\`.`;
  return { name: 'sort', type: 'string', repeatable: true, description, pattern: sortPattern(fields) } as const;
};

const paging = [
  { name: 'page', type: 'integer', description: 'Page number, starting at 1.' },
  { name: 'per_page', type: 'integer', description: 'Entries per page. Default 25; values above 50 count as 50.' },
] as const;
const filters = [
  {
    name: 'label_selector',
    type: 'string',
    description: 'Label selector in the syntax of the upstream, for example `env=prod,!old`.',
  },
  sortBy(sortFields.sets),
] as const;
const actionId = { name: 'id', type: 'integer', repeatable: true, description: 'Action ID.' } as const;
const actionFilters = [
  { name: 'status', type: 'string', repeatable: true, description: 'States of the actions.', values: actionStatuses },
  sortBy(sortFields.actions),
] as const;
const rrsetPath = '/zones/{zone}/rrsets/{name}/{type}';
const getsAction = 'Get an action; while it runs, the answer waits';

/** The beginning of a row for a read. */
const read = <Id extends string, Answer extends DnsAnswer>(operationId: Id, path: string, answer: Answer) =>
  ({ operationId, method: 'get', path, kind: 'read', status: 200, answer }) as const;

/** The beginning of a row for a write. */
const write = <Id extends string, Answer extends DnsAnswer | null>(
  operationId: Id,
  method: 'post' | 'put' | 'delete',
  path: string,
  status: number,
  answer: Answer,
) => ({ operationId, method, path, kind: 'write', status, answer }) as const;

/** Zones, record sets, actions, and the token of the request. */
export const dnsZoneRoutes = [
  {
    ...read('listZones', '/zones', 'zoneList'),
    summary: 'List zones: exactly one',
    query: [
      { name: 'name', type: 'string', description: 'Exact zone name. Any other name returns an empty list.' },
      { name: 'mode', type: 'string', description: '`primary` or `secondary`.' },
      ...filters,
      ...paging,
    ],
  },
  { ...read('getZone', '/zones/{zone}', 'zone'), summary: 'Get the zone by ID or name' },
  {
    ...read('listRrsets', '/zones/{zone}/rrsets', 'rrsetList'),
    summary: 'List the team’s record sets',
    query: [
      { name: 'name', type: 'string', description: 'Exact relative name.' },
      { name: 'type', type: 'string', repeatable: true, description: 'Record type.' },
      ...filters,
      ...paging,
    ],
  },
  {
    ...write('createRrset', 'post', '/zones/{zone}/rrsets', 201, 'created'),
    summary: 'Create a record set',
    body: createRrsetSchema,
  },
  { ...read('getRrset', rrsetPath, 'rrset'), summary: 'Get a record set' },
  {
    ...write('updateRrset', 'put', rrsetPath, 200, 'rrset'),
    summary: 'Change the labels of a record set',
    body: updateRrsetSchema,
  },
  { ...write('deleteRrset', 'delete', rrsetPath, 201, 'action'), summary: 'Delete a record set' },
  {
    ...write('setRecords', 'post', `${rrsetPath}/actions/set_records`, 201, 'action'),
    summary: 'Replace all records of a record set',
    body: recordsBodySchema,
  },
  {
    ...write('addRecords', 'post', `${rrsetPath}/actions/add_records`, 201, 'action'),
    summary: 'Add records; creates the record set if it does not exist',
    body: addRecordsSchema,
  },
  {
    ...write('removeRecords', 'post', `${rrsetPath}/actions/remove_records`, 201, 'action'),
    summary: 'Remove records; deletes the record set with its last record',
    body: recordsBodySchema,
  },
  {
    ...write('changeTtl', 'post', `${rrsetPath}/actions/change_ttl`, 201, 'action'),
    summary: 'Change the TTL of a record set',
    body: changeTtlSchema,
  },
  {
    ...read('listActions', '/actions', 'actionList'),
    summary: 'Get the team’s actions by ID; while all of them run, the answer waits',
    query: [{ ...actionId, required: true }],
  },
  {
    ...read('listZoneActions', '/zones/actions', 'actionPage'),
    summary: 'List the team’s actions, or get them by ID; while all of these run, the answer waits',
    query: [actionId, ...actionFilters, ...paging],
  },
  {
    ...read('listActionsOfZone', '/zones/{zone}/actions', 'actionPage'),
    summary: 'Same as `/zones/actions`, because there is only one zone',
    query: [actionId, ...actionFilters, ...paging],
  },
  { ...read('getAction', '/actions/{id}', 'action'), summary: getsAction },
  { ...read('getZoneAction', '/zones/actions/{id}', 'action'), summary: getsAction },
  { ...read('getActionOfZone', '/zones/{zone}/actions/{id}', 'action'), summary: getsAction },
  {
    ...read('getToken', '/token', 'token'),
    summary: 'Get the token of the request: whose it is, what it may write, and what is left of its limits',
    anyScope: true,
  },
] as const satisfies readonly DnsRoute[];

const demoPath = '/demos/{label}';

/** Demos: served where enabled, otherwise unknown paths. */
export const dnsDemoRoutes = [
  {
    ...write('createDemo', 'post', '/demos', 201, 'createdDemo'),
    summary: 'Create a demo and its token; only this answer contains the token',
    body: createDemoSchema,
    tokenless: 'with a course code',
  },
  { ...read('listDemos', '/demos', 'demoList'), summary: 'List the team’s live demos', query: [...paging] },
  { ...read('getDemo', demoPath, 'demo'), summary: 'Get a demo' },
  {
    ...write('deleteDemo', 'delete', demoPath, 204, null),
    summary: 'End a demo: deletes its records and revokes its token',
  },
  {
    ...write('extendDemo', 'post', `${demoPath}/actions/extend`, 200, 'demo'),
    summary: 'Set the expiry of a demo, in seconds from now',
    body: extendDemoSchema,
  },
] as const satisfies readonly DnsRoute[];

export const dnsRoutes = [...dnsZoneRoutes, ...dnsDemoRoutes] as const;

export type DnsOperationId = (typeof dnsRoutes)[number]['operationId'];

const hasPathParameter = (route: DnsRoute): boolean => route.path.includes('{');
const isDemoRoute = (route: DnsRoute): boolean => route.path.startsWith('/demos');
/** Operations that can exceed a quota. */
const increasesUsage = ['createRrset', 'setRecords', 'addRecords', 'createDemo'];

/** Whether a write is sent upstream, so that upstream errors pass through. */
export const isForwarded = (route: DnsRoute): boolean => route.kind === 'write' && !isDemoRoute(route);

/** The error codes of the gateway itself for a route. */
export function dnsErrorsOf(route: DnsRoute): DnsErrorCode[] {
  const writes = route.kind === 'write';
  const codes: DnsErrorCode[] = [
    ...(writes || route.query !== undefined ? (['invalid_input'] as const) : []),
    'unauthorized',
    ...(route.anyScope ? [] : (['forbidden'] as const)),
    ...(increasesUsage.includes(route.operationId) ? (['resource_limit_exceeded'] as const) : []),
    ...(hasPathParameter(route) ? (['not_found'] as const) : []),
    'method_not_allowed',
    ...(isForwarded(route) ? (['conflict'] as const) : []),
    ...(route.operationId === 'createDemo' ? (['uniqueness_error'] as const) : []),
    ...(writes ? (['payload_too_large', 'unsupported_media_type'] as const) : []),
    'rate_limit_exceeded',
    'server_error',
    ...(isForwarded(route) ? (['upstream_unavailable'] as const) : []),
    'unavailable',
  ];
  return codes;
}

/** The known upstream errors for a route. */
export const dnsUpstreamErrorsOf = (route: DnsRoute): readonly (typeof dnsUpstreamErrors)[number][] =>
  isForwarded(route) ? dnsUpstreamErrors : [];

export const dnsBodyLimitsOf = (route: DnsRoute): BodyLimits =>
  isDemoRoute(route) ? dnsBodyLimits.demos : dnsBodyLimits.recordSets;

/**
 * The answer to a valid token of another team. `hidden`: as for a missing resource. `forbidden`: the name belongs to
 * another owner, whether it exists or not. `left out`: served without the team's resources. `shared`: the same answer
 * for all.
 */
export type StrangerVerdict = 'hidden' | 'forbidden' | 'left out' | 'shared';

export function dnsStrangerVerdictOf({ path, kind }: DnsRoute): StrangerVerdict {
  if (path === '/zones' || path === '/zones/{zone}') return 'shared';
  if (kind === 'write' && path.startsWith('/zones')) return 'forbidden';
  return /\{(name|id|label)\}/.test(path) ? 'hidden' : 'left out';
}
