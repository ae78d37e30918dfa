import { setTimeout as wait } from 'node:timers/promises';
import type { RequestHandler, Response } from 'express';
import type { FaultEffect, FaultRules } from './fault-rules.js';

/** Renders an injected status in the words of the API that is being faulted. */
export type RenderError = (status: number, code: string | undefined, message: string) => unknown;

/** Lets the fault rules decide about a request before the API sees it. */
export function injectFaults(rules: FaultRules, renderError: RenderError): RequestHandler {
  return async (req, res, next) => {
    const effect = rules.take(req.method, req.originalUrl);
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

/** Lets the API do its work and spoils what it answers. */
function replaceAnswer(res: Response, effect: FaultEffect, renderError: RenderError): void {
  const end = res.end;
  res.end = ((body?: unknown) => {
    res.end = end;
    if (effect.reset === 'after') res.req.socket.destroy();
    else if (effect.truncate) sendHalf(res, body);
    else sendInjected(res, effect, renderError);
    return res;
  }) as Response['end'];
}

/** The headers still announce the whole body. */
function sendHalf(res: Response, body: unknown): void {
  const whole = Buffer.isBuffer(body) ? body : Buffer.from(String(body ?? ''));
  res.write(whole.subarray(0, Math.floor(whole.length / 2)), () => res.req.socket.destroy());
}

function sendInjected(res: Response, effect: FaultEffect, renderError: RenderError): void {
  const { status = 500, code, message = 'injected fault', contentType = 'application/json' } = effect;
  const body = effect.body === undefined ? renderError(status, code, message) : effect.body;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  // Set past Express, which would add a charset to any text type.
  res.setHeader('Content-Type', contentType);
  res.setHeader('Content-Length', Buffer.byteLength(text));
  res.status(status).end(text);
}
