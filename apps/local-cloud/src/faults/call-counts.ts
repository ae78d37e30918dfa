import type { RequestHandler } from 'express';
import type { RouteTable } from './route-table.js';
import { verbOf } from './verb.js';

export interface Calls {
  total: number;
  /** By `METHOD /route/:pattern`, where a watch is a WATCH and an apply patch an APPLY; requests to unknown paths count under `METHOD unknown`. */
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

/** @param prefix tells APIs with the same paths apart */
export function countCalls(counts: CallCounts, routes: RouteTable, prefix = ''): RequestHandler {
  return (req, _res, next) => {
    counts.add(`${prefix}${verbOf(req)} ${routes.find(req.path)?.pattern ?? 'unknown'}`);
    next();
  };
}
