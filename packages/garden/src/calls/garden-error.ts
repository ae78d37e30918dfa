import type { Denial } from './admission.js';

/**
 * What a failed call means for the caller.
 *
 * | kind | did a write happen? |
 * | --- | --- |
 * | `unreachable` | no: never connected, or given up before it was sent. Also a read without an answer |
 * | `uncertain` | maybe: sent, then time over, reset, or 5xx |
 * | `throttled` | no: 429, wait for `retryAfterSeconds` |
 * | `credentials` | no: ours are refused (401), missing or unreadable |
 * | `rbac` | no: the garden lacks a right for our user |
 * | `refused` | no: admission or validation, see `sentences`, `fields` and `denial` |
 * | `webhook_unavailable` | no: an admission `webhook` of this object does not answer. Says nothing about the garden |
 * | `quota_exceeded` | no: a quota of the garden is used up. For operators: alert, and retry later |
 * | `stale_reference` | no: a referenced object is absent, or not cached yet. Retry briefly, then it is an input error |
 * | `conflict` | no: other owners of fields (`causes`), or another object of that name (`uidMismatch`) |
 * | `exists` | no: the name is taken |
 * | `not_found` | no: the object, or its namespace, is absent |
 * | `expired` | no: 410, the resource version or continue token is too old |
 * | `server_error` | no: a read met 5xx, or the garden is still starting and refuses all users or requests |
 * | `unusable` | maybe: not an API server's answer: not JSON, incomplete, too large or without metadata |
 */
export type GardenErrorKind =
  | 'unreachable'
  | 'uncertain'
  | 'throttled'
  | 'credentials'
  | 'rbac'
  | 'refused'
  | 'webhook_unavailable'
  | 'quota_exceeded'
  | 'stale_reference'
  | 'conflict'
  | 'exists'
  | 'not_found'
  | 'expired'
  | 'server_error'
  | 'unusable';

export interface GardenErrorDetails {
  /** HTTP status, or the code inside an event of a watch */
  status?: number | null;
  /** the `reason` of a Kubernetes Status, e.g. `Forbidden` */
  reason?: string | null;
  retryAfterSeconds?: number | null;
  /** the garden's text, without the prefix that names the object. Not suitable for tenants unchanged */
  sentences?: readonly string[];
  fields?: readonly FieldProblem[];
  denial?: Denial | null;
  webhook?: string | null;
  causes?: readonly FieldConflict[];
  uidMismatch?: boolean;
  continueToken?: string | null;
  untrusted?: boolean;
  isAnonymous?: boolean;
  fromShoot?: boolean;
}

export interface FieldProblem {
  /** e.g. `spec.provider.workers[0].machine.type` */
  field: string;
  message: string;
}

export interface FieldConflict {
  /** e.g. `.spec.kubernetes.version` */
  field: string;
  /** the field manager that owns it, e.g. `gardener-controller-manager`; null when the message cannot be parsed */
  manager: string | null;
}

/**
 * The one error of this package.
 *
 * It has no cause, because errors of the HTTP layer hold headers and bodies, and so tokens. The garden's texts are
 * bounded in length, and absent for calls that send or fetch secrets.
 */
export class GardenError extends Error {
  override readonly name = 'GardenError';
  readonly status: number | null;
  readonly reason: string | null;
  readonly retryAfterSeconds: number | null;
  readonly sentences: readonly string[];
  readonly fields: readonly FieldProblem[];
  /** of an admission policy or webhook of the garden's operators */
  readonly denial: Denial | null;
  /** the admission webhook that does not answer */
  readonly webhook: string | null;
  readonly causes: readonly FieldConflict[];
  /** true when another object has the name */
  readonly uidMismatch: boolean;
  /** continues an expired list on newer data */
  readonly continueToken: string | null;
  /** true when the connection failed because the server's certificate is not trusted */
  readonly untrusted: boolean;
  /** true when the garden treated us as anonymous: it did not check our credentials */
  readonly isAnonymous: boolean;
  /** true when a Shoot's own API server failed, which says nothing about the garden */
  readonly fromShoot: boolean;

  /** @param what constants, numbers and names of resources, for the log */
  constructor(
    readonly kind: GardenErrorKind,
    what: string,
    details: GardenErrorDetails = {},
  ) {
    const {
      status = null,
      reason = null,
      retryAfterSeconds = null,
      sentences = [],
      fields = [],
      causes = [],
    } = details;
    const words = sentences[0] === undefined ? '' : `: ${sentences[0]}`;
    super(`${kind}: ${what}${words}`);
    this.status = status;
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
    this.sentences = sentences;
    this.fields = fields;
    this.denial = details.denial ?? null;
    this.webhook = details.webhook ?? null;
    this.causes = causes;
    this.uidMismatch = details.uidMismatch ?? false;
    this.continueToken = details.continueToken ?? null;
    this.untrusted = details.untrusted ?? false;
    this.isAnonymous = details.isAnonymous ?? false;
    this.fromShoot = details.fromShoot ?? false;
  }
}

/** @param kinds the kinds to match. Default: all */
export function isGardenError(error: unknown, ...kinds: readonly GardenErrorKind[]): error is GardenError {
  return error instanceof GardenError && (kinds.length === 0 || kinds.includes(error.kind));
}
