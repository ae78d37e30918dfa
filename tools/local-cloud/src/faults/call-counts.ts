import type { Request, RequestHandler } from 'express';

export interface Calls {
  total: number;
  /** Keyed by `METHOD /route/:pattern`, with verbs from {@link verbOf}. Unknown paths count as `METHOD unknown`. */
  byRoute: Record<string, number>;
}

/** Counts every request that arrives, whatever its outcome. */
export class CallCounts {
  #byRoute = new Map<string, number>();

  add(key: string): void {
    this.#byRoute.set(key, (this.#byRoute.get(key) ?? 0) + 1);
  }

  read(): Calls {
    const byRoute = Object.fromEntries([...this.#byRoute].sort(([a], [b]) => (a < b ? -1 : 1)));
    return { total: [...this.#byRoute.values()].reduce((sum, count) => sum + count, 0), byRoute };
  }

  reset(): void {
    this.#byRoute.clear();
  }
}

/** @param prefix distinguishes APIs with the same paths */
export function countCalls(counts: CallCounts, routes: RouteTable, prefix = ''): RequestHandler {
  return (req, _res, next) => {
    counts.add(`${prefix}${verbOf(req)} ${routes.find(req.path)?.pattern ?? 'unknown'}`);
    next();
  };
}

export interface Route {
  /** Path with `:parameter` segments, e.g. `/v1/zones/:zone`. */
  readonly pattern: string;
  readonly methods: readonly string[];
}

/** Finds the route of a path without Express: a faulted request may never reach a handler. */
export class RouteTable {
  readonly #routes: readonly { route: Route; segments: readonly string[] }[];

  /** @param routes the first match wins */
  constructor(routes: readonly Route[]) {
    this.#routes = routes.map((route) => ({ route, segments: route.pattern.split('/') }));
  }

  find(path: string): Route | null {
    const segments = path.split('/');
    const found = this.#routes.find(
      (known) =>
        known.segments.length === segments.length &&
        known.segments.every((part, index) =>
          part.startsWith(':') ? segments[index] !== '' : part === segments[index],
        ),
    );
    return found?.route ?? null;
  }
}

/** The method of a request, but WATCH for a Kubernetes watch and APPLY for a server-side apply. */
export function verbOf(req: Request): string {
  if (req.method === 'GET' && /[?&]watch=(1|true)(&|$)/.test(req.originalUrl)) return 'WATCH';
  const isApply = req.method === 'PATCH' && (req.get('Content-Type') ?? '').startsWith('application/apply-patch');
  return isApply ? 'APPLY' : req.method;
}
