/** An invalid part of a refused request. */
export interface FieldProblem {
  /** JSON pointer into the body; empty for the body itself. */
  readonly pointer: string;
  /** Continues a sentence that begins with the field. */
  readonly message: string;
  /** A complete sentence, where the API has one. */
  readonly detail?: string;
}

/**
 * Codes of the client itself, with status 0: no answer came (`network`), it did not come in time (`timeout`), it is too
 * large, or the request was not sent because it cannot be valid. `unreadable` has the status of an answer that says
 * nothing that the client understands.
 */
export type ClientErrorCode = 'network' | 'timeout' | 'answer_too_large' | 'invalid_request' | 'unreadable';

export interface CorralErrorInit {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly errors?: readonly FieldProblem[];
  readonly operationId?: string | null;
  readonly requestId?: string | null;
  readonly retryAfterMs?: number | null;
  readonly body?: unknown;
}

/** A request that an API refused, or that got no usable answer. `message` says what to do about it. */
export class CorralError extends Error {
  override readonly name = 'CorralError';
  /** HTTP status of the answer; 0 when there was none. */
  readonly status: number;
  /** Stable code of the API, or a `ClientErrorCode`. */
  readonly code: string;
  readonly detail: string;
  readonly errors: readonly FieldProblem[];
  /** The operation of the API that was called, such as `putCluster`. */
  readonly operationId: string | null;
  /** Names the request in the logs of the service. */
  readonly requestId: string | null;
  /** Milliseconds after which the API may accept the request, if it said so. */
  readonly retryAfterMs: number | null;
  /** The whole answer, for members that only some problems have. */
  readonly body: unknown;

  constructor(init: CorralErrorInit) {
    super(init.detail);
    this.status = init.status;
    this.code = init.code;
    this.detail = init.detail;
    this.errors = init.errors ?? [];
    this.operationId = init.operationId ?? null;
    this.requestId = init.requestId ?? null;
    this.retryAfterMs = init.retryAfterMs ?? null;
    this.body = init.body ?? null;
  }

  /** Whether a change may have taken effect although its answer is unknown. */
  get isUnknownOutcome(): boolean {
    const { status, code } = this;
    if (status === 0) return code !== 'invalid_request';
    return status === 502 || status === 504 || (status < 300 && code === 'unreadable');
  }
}

export const isCorralError = (error: unknown): error is CorralError => error instanceof CorralError;

/**
 * Reads a refusal of the cluster API (RFC 9457) or of the DNS API. A proxy in between may answer something else.
 *
 * @param text the body; null if it is too large
 */
export function refusalOf(operationId: string, response: Response, text: string | null): CorralError {
  const { status, headers } = response;
  const body = parsed(text);
  return new CorralError({
    ...(clusterProblem(body) ?? dnsError(body) ?? unreadable(response)),
    status,
    operationId,
    requestId: headers.get('X-Correlation-Id'),
    retryAfterMs: retryAfterMsOf(headers),
    body,
  });
}

/** `Retry-After` in ms: it is a number of seconds or a date. Null without a valid one. */
export function retryAfterMsOf(headers: Headers): number | null {
  const text = headers.get('Retry-After')?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const at = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now());
}

function parsed(text: string | null): unknown {
  try {
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

type Said = Pick<CorralErrorInit, 'code' | 'detail' | 'errors'>;

function clusterProblem(body: unknown): Said | null {
  const { code, detail, errors } = objectOf(body);
  if (typeof code !== 'string' || typeof detail !== 'string') return null;
  return { code, detail, errors: listOf(errors).filter(isFieldProblem) };
}

function isFieldProblem(given: unknown): given is FieldProblem {
  const { pointer, message } = objectOf(given);
  return typeof pointer === 'string' && typeof message === 'string';
}

function dnsError(body: unknown): Said | null {
  const { code, message, details } = objectOf(objectOf(body).error);
  if (typeof code !== 'string' || typeof message !== 'string') return null;
  const errors = listOf(objectOf(details).fields).map((field) => {
    const { name, messages } = objectOf(field);
    return { pointer: pointerOf(String(name ?? '')), message: listOf(messages).join(' ') };
  });
  return { code, detail: message, errors };
}

/** `records[0].value`, the notation of the DNS API, as a JSON pointer. */
const pointerOf = (name: string): string =>
  name === '' ? '' : `/${name.replaceAll('[', '/').replaceAll(']', '').replaceAll('.', '/')}`;

function unreadable({ status, type }: Response): Said {
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    return { code: 'unreadable', detail: 'The server redirects to another address. Check the base URL.' };
  }
  return { code: 'unreadable', detail: `The server answered ${status} without an explanation. Try again in a moment.` };
}

const objectOf = (given: unknown): Readonly<Record<string, unknown>> =>
  typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : {};
const listOf = (given: unknown): readonly unknown[] => (Array.isArray(given) ? given : []);
