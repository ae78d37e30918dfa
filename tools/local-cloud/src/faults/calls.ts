import { setTimeout as wait } from 'node:timers/promises';
import type { Request, RequestHandler, Response } from 'express';
import { type ApiName, type FaultEffect, type FaultRule, fitsRequest, HeldRules } from './fault-rules.js';

/** What tests see and break of the calls to all APIs. */
export class Calls {
  readonly faults = new HeldRules<FaultRule>();
  readonly #byRoute = new Map<string, number>();

  add(key: string): void {
    this.#byRoute.set(key, (this.#byRoute.get(key) ?? 0) + 1);
  }

  /** Counted requests, keyed by `METHOD /route/:pattern`, with verbs from {@link verbOf}. */
  counts(): { total: number; byRoute: Record<string, number> } {
    const total = [...this.#byRoute.values()].reduce((sum, count) => sum + count, 0);
    return { total, byRoute: Object.fromEntries(this.#byRoute) };
  }

  resetCounts(): void {
    this.#byRoute.clear();
  }
}

/** Counts the requests of a route, whatever their outcome. @param pattern unknown paths are `unknown` */
export const countCall =
  (calls: Calls, pattern: string | ((req: Request) => string), prefix = ''): RequestHandler =>
  (req, _res, next) => {
    calls.add(`${prefix}${verbOf(req)} ${typeof pattern === 'string' ? pattern : pattern(req)}`);
    next();
  };

/** The method of a request, but WATCH for a Kubernetes watch and APPLY for a server-side apply. */
function verbOf(req: Request): string {
  if (req.method === 'GET' && /[?&]watch=(1|true)(&|$)/.test(req.originalUrl)) return 'WATCH';
  const isApply = req.method === 'PATCH' && (req.get('Content-Type') ?? '').startsWith('application/apply-patch');
  return isApply ? 'APPLY' : req.method;
}

/** Renders an injected status in the error format of the API. */
type RenderError = (
  status: number,
  code: string | undefined,
  message: string,
  retryAfter: number | undefined,
) => unknown;

/** Applies the fault rules to a request before the API handles it. */
export function injectFaults({ faults }: Calls, renderError: RenderError, api: ApiName): RequestHandler {
  return async (req, res, next) => {
    const effect = faults.take((rule) => fitsRequest(rule, api, req, verbOf(req)))?.effect;
    if (effect === undefined) return next();
    if (effect.delayMs !== undefined) await wait(effect.delayMs, undefined, { ref: false });
    if (effect.hang) return;
    if (effect.reset === 'before') return void req.socket.destroy();
    if (effect.status !== undefined && !effect.perform) return sendInjected(res, effect, renderError);
    if (effect.actionError !== undefined) res.locals.actionError = effect.actionError;
    if (effect.reset === 'after' || effect.truncate || effect.status !== undefined)
      replaceAnswer(res, effect, renderError);
    next();
  };
}

/** Lets the API perform the request, then replaces the response or a stream's first chunk. Drops later chunks. */
function replaceAnswer(res: Response, effect: FaultEffect, renderError: RenderError): void {
  const { end, write } = res;
  const spoil = (body?: unknown): void => {
    Object.assign(res, { end, write });
    // A stream that ends before its first chunk has already sent its status: only the connection can be dropped.
    const isTooLate = effect.status !== undefined && res.headersSent;
    if (effect.reset === 'after' || isTooLate) res.req.socket.destroy();
    else if (effect.truncate) sendHalf(res, body);
    else sendInjected(res, effect, renderError);
    Object.assign(res, { end: () => res, write: () => false });
  };
  res.end = ((body?: unknown) => {
    spoil(body);
    return res;
  }) as Response['end'];
  res.write = ((body?: unknown) => {
    spoil(body);
    return false;
  }) as Response['write'];
}

/** Sends half the body; the headers still announce the full length. */
function sendHalf(res: Response, body: unknown): void {
  const whole = Buffer.isBuffer(body) ? body : Buffer.from(String(body ?? ''));
  res.write(whole.subarray(0, Math.floor(whole.length / 2)), () => res.req.socket.destroy());
}

function sendInjected(res: Response, effect: FaultEffect, renderError: RenderError): void {
  const { status = 500, code, message = 'injected fault', contentType = 'application/json', retryAfter } = effect;
  const body = effect.body === undefined ? renderError(status, code, message, retryAfter) : effect.body;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  // Bypasses Express, which would add a charset to text types.
  res.setHeader('Content-Type', contentType);
  if (retryAfter !== undefined) res.setHeader('Retry-After', String(retryAfter));
  res.setHeader('Content-Length', Buffer.byteLength(text));
  res.status(status).end(text);
}
