import type { Request } from 'express';

export type ApiName = 'hcloud' | 'garden' | 'shoot';

interface FaultMatch {
  /** The API of the requests: `hcloud`, `garden`, or `shoot` for the API servers of Shoots. Default: all. */
  api?: ApiName;
  /** An HTTP method, WATCH or APPLY. Default: every method. */
  method?: string;
  /** Regular expression, matched anywhere in the path, with or without the query. Default: every path. */
  path?: string;
}

/** Effect on a matching request. `delayMs` combines with any other effect; the others exclude each other. */
export interface FaultEffect {
  /** Delay before any other effect, in milliseconds. */
  delayMs?: number;
  /** Answers with this status. */
  status?: number;
  /** Error code of that answer. Default: `server_error`, or the usual reason of Kubernetes. */
  code?: string;
  /** Error message of that answer. */
  message?: string;
  /** Body of that answer, replacing the error format. Text is sent unchanged. */
  body?: unknown;
  /** Default: `application/json`. */
  contentType?: string;
  /** Seconds, for the header `Retry-After` of that answer. */
  retryAfter?: number;
  /** Performs the request before answering with `status`. Default: the request is not performed. */
  perform?: boolean;
  /** Drops the connection before or after performing the request. */
  reset?: 'before' | 'after';
  /** Performs the request, answers the first half of the body, and drops the connection. */
  truncate?: boolean;
  /** Never answers, and does not perform the request. */
  hang?: boolean;
  /**
   * Accepts the write, but its action ends in this error and the write has no effect. Matches mutating requests only.
   * `afterMs`: run time of the action in milliseconds. Default: that of every action.
   */
  actionError?: { code: string; message: string; afterMs?: number };
}

export interface FaultRule {
  match?: FaultMatch;
  /** Number of requests to affect; null for no limit. Default 1. */
  times?: number | null;
  effect: FaultEffect;
}

export type HeldRule<R> = R & {
  /** Number of times it may still take effect; null for no limit. */
  readonly remaining: number | null;
};

/** Rules that take effect once, a number of times, or always. The first one that fits takes effect. */
export class HeldRules<R extends { readonly times?: number | null }> {
  #held: HeldRule<R>[] = [];

  add(...rules: readonly R[]): void {
    for (const rule of rules) this.#held.push({ ...rule, remaining: rule.times === undefined ? 1 : rule.times });
  }

  list(): HeldRule<R>[] {
    return [...this.#held];
  }

  clear(): void {
    this.#held = [];
  }

  /** Finds the rule that takes effect, and counts it. */
  take(fits: (rule: R) => boolean): R | null {
    const index = this.#held.findIndex((rule) => rule.remaining !== 0 && fits(rule));
    const rule = this.#held[index];
    if (rule === undefined) return null;
    const remaining = rule.remaining === null ? null : rule.remaining - 1;
    this.#held[index] = { ...rule, remaining };
    return rule;
  }
}

/** Whether a rule applies to a request. @param verb from `verbOf` */
export function fitsRequest(
  { match = {}, effect }: FaultRule,
  api: ApiName,
  { method, originalUrl }: Pick<Request, 'method' | 'originalUrl'>,
  verb: string,
): boolean {
  if (match.api !== undefined && match.api !== api) return false;
  if (match.method !== undefined && ![method, verb].includes(match.method)) return false;
  const pattern = new RegExp(match.path ?? '');
  if (!pattern.test(originalUrl.split('?', 1)[0] ?? '') && !pattern.test(originalUrl)) return false;
  return effect.actionError === undefined || (method !== 'GET' && api === 'hcloud');
}
