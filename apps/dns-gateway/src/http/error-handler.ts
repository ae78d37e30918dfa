import { InvalidBody } from '@corral/contracts';
import { isDatabaseAway } from '@corral/database';
import { type Log, UnreadableBody } from '@corral/service';
import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import { ClientGone, DnsError, notFound, type SpentBudget, unavailable } from '../dns-error.js';
import { sendJsonText } from './send.js';

/** The one translator of errors to HTTP, in the upstream's shape. What it does not know is ours: 500, logged once. */
export function errorHandler(log: Log): ErrorRequestHandler {
  return (error, _req, res, _next) => {
    if (error instanceof ClientGone) {
      res.destroy();
      return;
    }
    const known = dnsErrorOf(error);
    if (known === null) log.error('unexpected error', { requestId: res.locals.requestId, error });
    else if (known.cause !== undefined) {
      log.warn('request refused', { requestId: res.locals.requestId, code: known.code, error: known.cause });
    }
    // An answer that has begun cannot become an error: cutting it is the only honest end.
    if (res.headersSent) res.destroy();
    else
      sendError(res, known ?? new DnsError('server_error', 'An internal error occurred. Quote the X-Correlation-Id.'));
  };
}

export function unknownPath(): RequestHandler {
  return () => {
    throw notFound('path');
  };
}

function errorBody({ code, message, details }: DnsError): string {
  return JSON.stringify({ error: { code, message, details } });
}

export function sendError(res: Response, error: DnsError): void {
  if (error.retryAfterSeconds !== null) res.setHeader('Retry-After', error.retryAfterSeconds);
  if (error.budget !== null) stateSpent(res, error.budget);
  sendJsonText(res, error.status, errorBody(error));
}

function stateSpent(res: Response, { limit, remaining, resetAt }: SpentBudget): void {
  // Rather none than that of another limit.
  if (limit === null) res.removeHeader('RateLimit-Limit');
  else res.setHeader('RateLimit-Limit', limit);
  res.setHeader('RateLimit-Remaining', remaining);
  res.setHeader('RateLimit-Reset', Math.ceil(resetAt.getTime() / 1_000));
}

function dnsErrorOf(error: unknown): DnsError | null {
  if (error instanceof DnsError) return error;
  if (error instanceof InvalidBody) return invalidBody(error);
  if (error instanceof URIError) return notFound('path');
  if (isDatabaseAway(error)) return unavailable(error);
  return error instanceof UnreadableBody ? unreadableBody(error) : null;
}

function invalidBody({ message, fields }: InvalidBody): DnsError {
  const listed = fields.map((field) => ({ name: field.name || 'body', messages: [field.message] }));
  return new DnsError('invalid_input', message, { details: { fields: listed } });
}

/** Whatever is wrong inside of a body is one code, as clients of the upstream know it. */
function unreadableBody({ fault, message }: UnreadableBody): DnsError {
  switch (fault) {
    case 'too_large':
      return new DnsError('payload_too_large', message);
    case 'encoded':
      return new DnsError('unsupported_media_type', message);
    default:
      return new DnsError('invalid_input', message);
  }
}
