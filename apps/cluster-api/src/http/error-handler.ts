import { InvalidBody } from '@corral/contracts';
import { isDatabaseAway } from '@corral/database';
import { ClientGone, type Log, UnreadableBody } from '@corral/service';
import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import { notFound, Problem } from '../problem.js';
import { PROBLEM_JSON, problemBody } from './problem-body.js';

const DATABASE_RETRY_SECONDS = 5;

/** The one translator of errors to HTTP (RFC 9457). What it does not know is ours: 500, logged once with its causes. */
export function errorHandler(log: Log, publicUrl: () => string): ErrorRequestHandler {
  return (error, _req, res, _next) => {
    if (error instanceof ClientGone) return;
    const known = problemOf(error);
    if (known === null) log.error('unexpected error', { requestId: res.locals.requestId, error });
    else if (known.cause !== undefined) {
      log.warn('request refused', { requestId: res.locals.requestId, code: known.code, error: known.cause });
    }
    // An answer that has begun cannot become an error: cutting it is the only honest end.
    if (res.headersSent) return void res.destroy();
    sendProblem(
      res,
      known ??
        new Problem(
          'internal_error',
          'The request failed because of an internal error. Quote `instance` when you report it.',
        ),
      publicUrl,
    );
  };
}

export function unknownPath(): RequestHandler {
  return () => {
    throw notFound();
  };
}

export function sendProblem(res: Response, problem: Problem, publicUrl: () => string): void {
  const { retryAfterSeconds } = problem;
  const body = problemBody(problem, { publicUrl: publicUrl(), requestId: res.locals.requestId });
  if (retryAfterSeconds !== null) res.setHeader('Retry-After', retryAfterSeconds);
  res.setHeader('Cache-Control', 'no-store');
  res.statusCode = body.status;
  const text = JSON.stringify(body);
  res.setHeader('Content-Type', PROBLEM_JSON);
  res.setHeader('Content-Length', Buffer.byteLength(text));
  res.end(text);
}

function problemOf(error: unknown): Problem | null {
  if (error instanceof Problem) return error;
  if (error instanceof InvalidBody) return invalidBody(error);
  if (error instanceof URIError) return notFound();
  if (isDatabaseAway(error)) {
    return new Problem('service_unavailable', 'The database is unavailable. Repeat the request in a moment.', {
      retryAfterSeconds: DATABASE_RETRY_SECONDS,
      cause: error,
    });
  }
  return error instanceof UnreadableBody ? unreadableBody(error) : null;
}

function invalidBody({ message, fields }: InvalidBody): Problem {
  const errors = fields.map(({ pointer, message: wrong }) => ({ pointer, message: wrong }));
  return new Problem('validation_failed', `${message}.`, { errors });
}

function unreadableBody({ fault, message }: UnreadableBody): Problem {
  switch (fault) {
    case 'too_large':
      return new Problem('payload_too_large', message);
    case 'encoded':
      return new Problem('unsupported_media_type', message);
    case 'too_deep':
    case 'too_many':
      return new Problem('validation_failed', message, { errors: [{ pointer: '', message: wrongSize[fault] }] });
    default:
      return new Problem('invalid_json', message);
  }
}

const wrongSize = { too_deep: 'is nested too deep', too_many: 'has too many members and elements' } as const;
