import type { Request, RequestHandler } from 'express';

export interface Calls {
  total: number;
  /** Keyed by `METHOD /route/:pattern`, with verbs from {@link verbOf}. Unknown paths count as `METHOD unknown`. */
  byRoute: Record<string, number>;
}

/** Counts every request that arrives, whatever its outcome. */
export class CallCounts {
  readonly #byRoute = new Map<string, number>();

  add(key: string): void {
    this.#byRoute.set(key, (this.#byRoute.get(key) ?? 0) + 1);
  }

  read(): Calls {
    const total = [...this.#byRoute.values()].reduce((sum, count) => sum + count, 0);
    return { total, byRoute: Object.fromEntries(this.#byRoute) };
  }

  reset(): void {
    this.#byRoute.clear();
  }
}

/** @param prefix distinguishes APIs with the same paths */
export function countCalls(counts: CallCounts, patternOf: (req: Request) => string, prefix = ''): RequestHandler {
  return (req, _res, next) => {
    counts.add(`${prefix}${verbOf(req)} ${patternOf(req)}`);
    next();
  };
}

/** The method of a request, but WATCH for a Kubernetes watch and APPLY for a server-side apply. */
export function verbOf(req: Request): string {
  if (req.method === 'GET' && /[?&]watch=(1|true)(&|$)/.test(req.originalUrl)) return 'WATCH';
  const isApply = req.method === 'PATCH' && (req.get('Content-Type') ?? '').startsWith('application/apply-patch');
  return isApply ? 'APPLY' : req.method;
}
