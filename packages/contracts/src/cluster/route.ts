import type { ClusterAnswer } from './answers.js';
import type { ProblemCode } from './problem-codes.js';
import type { Role } from './roles.js';

/**
 * The callers that have access to a route. `session`: any signed-in user. A role: at least that role in the team of the
 * path; for other users the team does not exist.
 */
export type RouteAccess = 'public' | 'session' | Role;

/**
 * One row of the cluster API. The service mounts exactly these rows; OpenAPI and the access tests are generated from
 * them.
 */
export interface ClusterRoute {
  readonly operationId: string;
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** Parameters in braces; ends with a slash. */
  readonly path: string;
  readonly summary: string;
  readonly access: RouteAccess;
  /** Roles that have access to a part only, which the summary or the body describes. */
  readonly partialFor?: readonly Role[];
  /** Closed to service accounts. Routes for any session always are. */
  readonly people?: true;
  /**
   * How a service account that is narrowed to clusters sees a route without a cluster in its path: `filtered`, or
   * `shared` for what is the same for all. Without it, such an account has no access.
   */
  readonly ofClusters?: 'filtered' | 'shared';
  /** The answer schema by success status; `null` for no body. 302 and 303 have a `Location`. */
  readonly answers: Readonly<Record<number, ClusterAnswer | null>>;
  /** The answer is a stream of these documents, one per line (`application/x-ndjson`). */
  readonly lines?: boolean;
  /** The answer is an endless stream of events with these documents as data (`text/event-stream`). */
  readonly events?: boolean;
  /** Problems in addition to those common to all routes of its kind. */
  readonly problems?: readonly ProblemCode[];
  readonly body?: object;
  readonly bodyOptional?: boolean;
  /** The body is a form (`application/x-www-form-urlencoded`): `only`, or `also` beside JSON. */
  readonly form?: 'only' | 'also';
  /** A 200 answer is a page for people (`text/html`). */
  readonly page?: true;
  readonly query?: readonly ClusterQueryParameter[];
  /** Accepts and ignores unlisted parameters, because a third party sends the request. */
  readonly anyQuery?: boolean;
  /** The path must not be logged with its parameters. */
  readonly privatePath?: boolean;
  /** Served in the development set-up only, and not documented. */
  readonly development?: true;
  /** The row is about the dry runs of a route. */
  readonly isDryRun?: true;
  /** The route only takes access away, so it is open to a suspended team, too. */
  readonly endsAccess?: true;
  /** Supports `If-Match`. */
  readonly conditional?: boolean;
  /** Supports `Idempotency-Key`. */
  readonly idempotent?: boolean;
}

/** The beginning of a row. */
export const route = <Id extends string, Access extends RouteAccess>(
  operationId: Id,
  method: ClusterRoute['method'],
  path: string,
  access: Access,
) => ({ operationId, method, path, access });

/** The beginning of a row for administrators, who have to be people. */
export const adminRoute = <Id extends string>(operationId: Id, method: ClusterRoute['method'], path: string) =>
  ({ ...route(operationId, method, path, 'admin'), people: true }) as const;

export interface ClusterQueryParameter {
  readonly name: string;
  readonly description: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'time';
  readonly values?: readonly string[];
  readonly isRequired?: true;
  /** May be given several times: any of the values fits. */
  readonly isRepeatable?: boolean;
}

export const paging: readonly ClusterQueryParameter[] = [
  { name: 'limit', type: 'integer', description: 'Items per page: 1 to 200, default 50.' },
  { name: 'cursor', type: 'string', description: '`next` of the previous page.' },
];
/** Prefix of team paths. */
export const team = '/api/v1/teams/{team}';

export const dryRun: ClusterQueryParameter = {
  name: 'dryRun',
  type: 'boolean',
  description:
    '`true`: validates the request and shows what would change and what that does to the nodes, without changing anything. A ' +
    'refusal lists every reason in `errors`. It is a read: open to viewers, and to service accounts that may only `read`.',
};
