import type { RequestHandler } from 'express';
import type { RouteTable } from './route-table.js';

export interface Calls {
  total: number;
  /** By `METHOD /route/:pattern`; requests to unknown paths count under `METHOD unknown`. */
  byRoute: Record<string, number>;
}

/** Counts every request that arrives, whatever becomes of it. */
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

export function countCalls(counts: CallCounts, routes: RouteTable): RequestHandler {
  return (req, _res, next) => {
    counts.add(`${req.method} ${routes.find(req.path)?.pattern ?? 'unknown'}`);
    next();
  };
}
