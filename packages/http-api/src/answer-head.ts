import { budgetHeaders } from '@corral/rate-limit';
import type { Express, Response } from 'express';

/**
 * Lets an app write the headers that all its answers have together with the head of each, unless a handler has set them:
 * constants, `X-Correlation-Id`, the reported request limits, and `Vary: Origin` where `varyByOrigin` asked for it. An answer for
 * which nobody has called `setHeader` costs half of what it does otherwise, because Node.js then takes them as they come.
 */
export function writeWithHead(app: Express, constants: readonly string[]): void {
  const { writeHead } = app.response;
  const write = (res: Response, status: number, rest: readonly unknown[]) =>
    (writeHead as (status: number, ...rest: unknown[]) => Response).call(res, status, ...rest);

  app.response.writeHead = function (this: Response, status: number, ...rest: unknown[]): Response {
    const { requestId }: { requestId?: string } = this.locals;
    const headers = [...constants, ...budgetHeaders(this)];
    // Express refuses what is no URL before any handler.
    if (requestId !== undefined) headers.push('X-Correlation-Id', requestId);
    const [own] = rest;
    if (Array.isArray(own) && this.getHeaderNames().length === 0) {
      if (variesByOrigin(this)) headers.push('Vary', 'Origin');
      return write(this, status, [headers.concat(own)]);
    }
    for (let at = 0; at < headers.length; at += 2) {
      const name = headers[at] as string;
      if (!this.hasHeader(name)) this.setHeader(name, headers[at + 1] as string);
    }
    if (variesByOrigin(this)) this.vary('Origin');
    return write(this, status, rest);
  } as typeof writeHead;
}

/** The answer differs between origins. */
export function varyByOrigin(res: Response): void {
  res.locals.variesByOrigin = true;
}

const variesByOrigin = ({ locals }: Response): boolean => locals.variesByOrigin === true;
