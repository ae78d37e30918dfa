import { setTimeout as wait } from 'node:timers/promises';
import type { RequestHandler, Response } from 'express';
import type { ApiName, FaultEffect, FaultRules } from './fault-rules.js';
import { verbOf } from './verb.js';

/** Renders an injected status in the words of the API that is being faulted. */
export type RenderError = (
  status: number,
  code: string | undefined,
  message: string,
  retryAfter: number | undefined,
) => unknown;

/** Lets the fault rules decide about a request before the API sees it. */
export function injectFaults(rules: FaultRules, renderError: RenderError, api: ApiName): RequestHandler {
  return async (req, res, next) => {
    const effect = rules.take(req.method, req.originalUrl, { api, verb: verbOf(req) });
    if (effect === null) return next();
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

/** Lets the API do its work and spoils what it answers; of a stream, the first piece. What comes after is swallowed. */
function replaceAnswer(res: Response, effect: FaultEffect, renderError: RenderError): void {
  const { end, write } = res;
  const spoil = (body?: unknown): void => {
    Object.assign(res, { end, write });
    // Of a stream that ends before its first piece the status is on its way: it can only break off.
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

/** The headers still announce the whole body. */
function sendHalf(res: Response, body: unknown): void {
  const whole = Buffer.isBuffer(body) ? body : Buffer.from(String(body ?? ''));
  res.write(whole.subarray(0, Math.floor(whole.length / 2)), () => res.req.socket.destroy());
}

function sendInjected(res: Response, effect: FaultEffect, renderError: RenderError): void {
  const { status = 500, code, message = 'injected fault', contentType = 'application/json' } = effect;
  const { retryAfter } = effect;
  const body = effect.body === undefined ? renderError(status, code, message, retryAfter) : effect.body;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  // Set past Express, which would add a charset to any text type.
  res.setHeader('Content-Type', contentType);
  if (retryAfter !== undefined) res.setHeader('Retry-After', String(retryAfter));
  res.setHeader('Content-Length', Buffer.byteLength(text));
  res.status(status).end(text);
}
