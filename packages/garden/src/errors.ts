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
 * | `refused` | no: admission or validation, see `sentences` and `fields` |
 * | `quota_exceeded` | no: a quota of the garden is used up. The platform's matter: later, and wake somebody |
 * | `stale_reference` | no: a referenced object is absent, or too new to be known. Retry briefly, then it is an input error |
 * | `conflict` | no: other owners of fields (`causes`), or another object under the name (`uidMismatch`) |
 * | `exists` | no: the name is taken |
 * | `not_found` | no: the object, or its namespace, is absent |
 * | `expired` | no: 410, the resource version or continue token is too old |
 * | `server_error` | no: a read met 5xx, or the garden has just started: it admits nobody or nothing yet |
 * | `unusable` | maybe: the answer is none that an API server gives: not JSON, half, too large, without metadata |
 */
export type GardenErrorKind =
  | 'unreachable'
  | 'uncertain'
  | 'throttled'
  | 'credentials'
  | 'rbac'
  | 'refused'
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
  /** the garden's own words, without the prefix that names the object. Not fit for tenants as they are */
  sentences?: readonly string[];
  fields?: readonly FieldProblem[];
  causes?: readonly FieldConflict[];
  uidMismatch?: boolean;
  continueToken?: string | null;
  untrusted?: boolean;
  asNobody?: boolean;
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
  /** the field manager that owns it, e.g. `gardener-controller-manager`; null when the message has another form */
  manager: string | null;
}

/**
 * The one error of this package.
 *
 * Carries no cause: errors of the HTTP layer hold headers and bodies, and so tokens. Texts of the garden are bounded,
 * and there are none for calls that send or fetch secrets.
 */
export class GardenError extends Error {
  override readonly name = 'GardenError';
  readonly status: number | null;
  readonly reason: string | null;
  readonly retryAfterSeconds: number | null;
  readonly sentences: readonly string[];
  readonly fields: readonly FieldProblem[];
  readonly causes: readonly FieldConflict[];
  /** true when the object under the name is not the one that was meant */
  readonly uidMismatch: boolean;
  /** a token with which an expired list may be continued on newer data */
  readonly continueToken: string | null;
  /** true when there was no connection because the server has no certificate that we trust */
  readonly untrusted: boolean;
  /** true when the right is one that nobody has who is not known: our credentials were not looked at */
  readonly asNobody: boolean;
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
    this.causes = causes;
    this.uidMismatch = details.uidMismatch ?? false;
    this.continueToken = details.continueToken ?? null;
    this.untrusted = details.untrusted ?? false;
    this.asNobody = details.asNobody ?? false;
    this.fromShoot = details.fromShoot ?? false;
  }
}

/** @param kinds any unless given */
export function isGardenError(error: unknown, ...kinds: readonly GardenErrorKind[]): error is GardenError {
  return error instanceof GardenError && (kinds.length === 0 || kinds.includes(error.kind));
}

/** The code of a system error, e.g. `ECONNRESET`: all of it that may go on, since messages may quote anything. */
export function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^\w{1,64}$/.test(code) ? code : 'no code';
}
