import type { ClusterAnswer } from './answers.js';
import type { ProblemCode } from './problem-codes.js';

/**
 * Who may call a route. `session`: anybody who is signed in. `member`, `admin`: at least that role in the team of the
 * path; for everybody else the team does not exist.
 */
export type RouteAccess = 'public' | 'session' | 'member' | 'admin';

/** One row of the cluster API. The service mounts these rows and no others; OpenAPI and the access tests are made of them. */
export interface ClusterRoute {
  readonly operationId: string;
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** Parameters in braces; ends in a slash. */
  readonly path: string;
  readonly summary: string;
  readonly access: RouteAccess;
  /** What each success answers; `null` for no body. With 302 and 303 the answer is where to go, in `Location`. */
  readonly answers: Readonly<Record<number, ClusterAnswer | null>>;
  /** The answer is a stream of such documents, one per line (`application/x-ndjson`). */
  readonly lines?: boolean;
  /** The answer is a stream without end whose events have such documents as their data (`text/event-stream`). */
  readonly events?: boolean;
  /** Beside those that every route of its kind can answer. */
  readonly problems: readonly ProblemCode[];
  readonly body?: object;
  readonly bodyOptional?: boolean;
  readonly query?: readonly ClusterQueryParameter[];
  /** Takes parameters that are not in the list: somebody else says what is sent, and what is unknown is passed over. */
  readonly anyQuery?: boolean;
  /** What its path names is not for logs. */
  readonly privatePath?: boolean;
  /** Takes `If-Match`. */
  readonly conditional?: boolean;
  /** Takes `Idempotency-Key`. */
  readonly idempotent?: boolean;
}

export interface ClusterQueryParameter {
  readonly name: string;
  readonly description: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'time';
  readonly values?: readonly string[];
}

export const paging: readonly ClusterQueryParameter[] = [
  { name: 'limit', type: 'integer', description: 'Items per page: 1 to 200, default 50.' },
  { name: 'cursor', type: 'string', description: '`next` of the previous page.' },
];
/** What the paths of a team begin with. */
export const team = '/api/v1/teams/{team}';
