/** An invalid field of a refused request. */
export interface FieldProblem {
  /** JSON pointer into the body; empty for the body itself. */
  readonly pointer: string;
  /** Continues a sentence that begins with the field. */
  readonly message: string;
  /** A complete sentence, where the API has one. */
  readonly detail?: string;
}

interface ProblemInit {
  /** Of the answer; 0 when there was none. */
  readonly status: number;
  /** Stable code of the API; `network` when no answer came. */
  readonly code: string;
  readonly detail: string;
  readonly requestId?: string | null;
  readonly retryAfterSeconds?: number | null;
  readonly fields?: readonly FieldProblem[];
  /** The whole body, for members that only some problems have. */
  readonly body?: unknown;
}

/** A request that an API refused, or that got no answer. `message` is what the API says to do about it. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
  readonly fields: readonly FieldProblem[];
  readonly body: unknown;

  constructor(init: ProblemInit) {
    super(init.detail);
    this.status = init.status;
    this.code = init.code;
    this.requestId = init.requestId ?? null;
    this.retryAfterSeconds = init.retryAfterSeconds ?? null;
    this.fields = init.fields ?? [];
    this.body = init.body ?? null;
  }

  /** Whether the request may have taken effect although its answer is unknown. */
  get isUnknownOutcome(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 504;
  }
}

export const isProblem = (error: unknown): error is ApiProblem => error instanceof ApiProblem;

const NO_ANSWER = 'The server did not answer. Check your connection; your input is kept.';

/** @param reason what `fetch` threw */
export const noAnswer = (reason: unknown): ApiProblem =>
  new ApiProblem({ status: 0, code: 'network', detail: NO_ANSWER, body: String(reason) });

/** Reads a refusal of the cluster API (RFC 9457) or of the DNS API; a proxy in between may answer something else. */
export async function problemOf(response: Response): Promise<ApiProblem> {
  const { status, headers } = response;
  const body: unknown = await response.json().catch(() => null);
  const retryAfter = Number(headers.get('Retry-After') ?? Number.NaN);
  const common = {
    status,
    requestId: headers.get('X-Correlation-Id'),
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : null,
    body,
  };
  return new ApiProblem({ ...common, ...(clusterProblem(body) ?? dnsProblem(body) ?? unreadable(status)) });
}

type Said = Pick<ProblemInit, 'code' | 'detail' | 'fields'>;

function clusterProblem(body: unknown): Said | null {
  const { code, detail, errors = [] } = (body ?? {}) as { code?: string; detail?: string; errors?: FieldProblem[] };
  if (typeof code !== 'string' || typeof detail !== 'string') return null;
  return { code, detail, fields: errors };
}

interface DnsError {
  readonly code?: string;
  readonly message?: string;
  readonly details?: { readonly fields?: readonly { name: string; messages: readonly string[] }[] } | null;
}

function dnsProblem(body: unknown): Said | null {
  const { error } = (body ?? {}) as { error?: DnsError };
  if (typeof error?.code !== 'string' || typeof error.message !== 'string') return null;
  const fields = (error.details?.fields ?? []).map(({ name, messages }) => ({
    pointer: name === '' ? '' : `/${name.replaceAll('[', '/').replaceAll(']', '').replaceAll('.', '/')}`,
    message: messages.join(' '),
  }));
  return { code: error.code, detail: error.message, fields };
}

const unreadable = (status: number): Said => ({
  code: 'unreadable',
  detail: `The server answered ${status} without an explanation. Try again in a moment.`,
});
