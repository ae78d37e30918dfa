import { actionStatuses, type DnsAnswer } from './answers.js';
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

/** Zones, record sets, actions, and the token of the request. */
export const dnsZoneRoutes = [
  {
    operationId: 'listZones',
    method: 'get',
    path: '/zones',
    summary: 'List zones: exactly one',
    kind: 'read',
    status: 200,
    answer: 'zoneList',
    query: [
      { name: 'name', type: 'string', description: 'Exact zone name. Any other name returns an empty list.' },
      { name: 'mode', type: 'string', description: '`primary` or `secondary`.' },
      ...filters,
      ...paging,
    ],
  },
  {
    operationId: 'getZone',
    method: 'get',
    path: '/zones/{zone}',
    summary: 'Get the zone by ID or name',
    kind: 'read',
    status: 200,
    answer: 'zone',
  },
  {
    operationId: 'listRrsets',
    method: 'get',
    path: '/zones/{zone}/rrsets',
    summary: 'List the team’s record sets',
    kind: 'read',
    status: 200,
    answer: 'rrsetList',
    query: [
      { name: 'name', type: 'string', description: 'Exact relative name.' },
      { name: 'type', type: 'string', repeatable: true, description: 'Record type.' },
      ...filters,
      ...paging,
    ],
  },
  {
    operationId: 'createRrset',
    method: 'post',
    path: '/zones/{zone}/rrsets',
    summary: 'Create a record set',
    kind: 'write',
    status: 201,
    answer: 'created',
    body: createRrsetSchema,
  },
  {
    operationId: 'getRrset',
    method: 'get',
    path: rrsetPath,
    summary: 'Get a record set',
    kind: 'read',
    status: 200,
    answer: 'rrset',
  },
  {
    operationId: 'updateRrset',
    method: 'put',
    path: rrsetPath,
    summary: 'Change the labels of a record set',
    kind: 'write',
    status: 200,
    answer: 'rrset',
    body: updateRrsetSchema,
  },
  {
    operationId: 'deleteRrset',
    method: 'delete',
    path: rrsetPath,
    summary: 'Delete a record set',
    kind: 'write',
    status: 201,
    answer: 'action',
  },
  {
    operationId: 'setRecords',
    method: 'post',
    path: `${rrsetPath}/actions/set_records`,
    summary: 'Replace all records of a record set',
    kind: 'write',
    status: 201,
    answer: 'action',
    body: recordsBodySchema,
  },
  {
    operationId: 'addRecords',
    method: 'post',
    path: `${rrsetPath}/actions/add_records`,
    summary: 'Add records; creates the record set if it does not exist',
    kind: 'write',
    status: 201,
    answer: 'action',
    body: addRecordsSchema,
  },
  {
    operationId: 'removeRecords',
    method: 'post',
    path: `${rrsetPath}/actions/remove_records`,
    summary: 'Remove records; deletes the record set with its last record',
    kind: 'write',
    status: 201,
    answer: 'action',
    body: recordsBodySchema,
  },
  {
    operationId: 'changeTtl',
    method: 'post',
    path: `${rrsetPath}/actions/change_ttl`,
    summary: 'Change the TTL of a record set',
    kind: 'write',
    status: 201,
    answer: 'action',
    body: changeTtlSchema,
  },
  {
    operationId: 'listActions',
    method: 'get',
    path: '/actions',
    summary: 'Get the team’s actions by ID; while all of them run, the answer waits',
    kind: 'read',
    status: 200,
    answer: 'actionList',
    query: [{ ...actionId, required: true }],
  },
  {
    operationId: 'listZoneActions',
    method: 'get',
    path: '/zones/actions',
    summary: 'List the team’s actions, or get them by ID; while all of these run, the answer waits',
    kind: 'read',
    status: 200,
    answer: 'actionPage',
    query: [actionId, ...actionFilters, ...paging],
  },
  {
    operationId: 'listActionsOfZone',
    method: 'get',
    path: '/zones/{zone}/actions',
    summary: 'Same as `/zones/actions`, because there is only one zone',
    kind: 'read',
    status: 200,
    answer: 'actionPage',
    query: [actionId, ...actionFilters, ...paging],
  },
  ...(
    [
      ['getAction', '/actions/{id}'],
      ['getZoneAction', '/zones/actions/{id}'],
      ['getActionOfZone', '/zones/{zone}/actions/{id}'],
    ] as const
  ).map(
    ([operationId, path]) =>
      ({
        operationId,
        method: 'get',
        path,
        summary: 'Get an action; while it runs, the answer waits',
        kind: 'read',
        status: 200,
        answer: 'action',
      }) as const,
  ),
  {
    operationId: 'getToken',
    method: 'get',
    path: '/token',
    summary: 'Get the token of the request: whose it is, what it may write, and what is left of its limits',
    kind: 'read',
    status: 200,
    answer: 'token',
    anyScope: true,
  },
] as const satisfies readonly DnsRoute[];

const demoPath = '/demos/{label}';

/** Demos: served where enabled, otherwise unknown paths. */
export const dnsDemoRoutes = [
  {
    operationId: 'createDemo',
    method: 'post',
    path: '/demos',
    summary: 'Create a demo and its token; only this answer contains the token',
    kind: 'write',
    status: 201,
    answer: 'createdDemo',
    body: createDemoSchema,
    tokenless: 'with a course code',
  },
  {
    operationId: 'listDemos',
    method: 'get',
    path: '/demos',
    summary: 'List the team’s live demos',
    kind: 'read',
    status: 200,
    answer: 'demoList',
    query: [...paging],
  },
  {
    operationId: 'getDemo',
    method: 'get',
    path: demoPath,
    summary: 'Get a demo',
    kind: 'read',
    status: 200,
    answer: 'demo',
  },
  {
    operationId: 'deleteDemo',
    method: 'delete',
    path: demoPath,
    summary: 'End a demo: deletes its records and revokes its token',
    kind: 'write',
    status: 204,
    answer: null,
  },
  {
    operationId: 'extendDemo',
    method: 'post',
    path: `${demoPath}/actions/extend`,
    summary: 'Set the expiry of a demo, in seconds from now',
    kind: 'write',
    status: 200,
    answer: 'demo',
    body: extendDemoSchema,
  },
] as const satisfies readonly DnsRoute[];

export const dnsRoutes = [...dnsZoneRoutes, ...dnsDemoRoutes] as const;

export type DnsOperationId = (typeof dnsRoutes)[number]['operationId'];
