import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Log } from '@corral/service';
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import type { ClientErrorRenderer } from './server/http-server.js';

/**
 * Sends text as it is, with `Cache-Control: no-store`. It uses `end` rather than `send`, which would add a charset to the type and answer
 * 304 to `If-None-Match: *`.
 *
 * @param type the whole `Content-Type`
 */
function sendText(res: Response, status: number, type: string, body: string): void {
  res.status(status);
  res.setHeader('Content-Type', type);
  res.setHeader('Content-Length', Buffer.byteLength(body));
  // The text concerns a team or a person and may contain a secret.
  res.setHeader('Cache-Control', 'no-store');
  res.end(body);
}

/** Sends JSON text as it is. */
export function sendJsonText(res: Response, status: number, body: string): void {
  sendText(res, status, 'application/json; charset=utf-8', body);
}

/** The query of a request. Repeated keys stay: `type=A&type=TXT` are two types. */
export function queryOf(req: Request): URLSearchParams {
  const queryAt = req.url.indexOf('?');
  return new URLSearchParams(queryAt === -1 ? '' : req.url.slice(queryAt + 1));
}

/** What is wrong with the body of a request. */
export type BodyFault =
  | 'too_large'
  | 'encoded'
  | 'incomplete'
  | 'in_pieces'
  | 'unexpected'
  | 'not_utf8'
  | 'not_json'
  | 'not_an_object'
  | 'too_deep'
  | 'too_many'
  | 'ambiguous';

/** Why a request is refused before a handler sees it. */
export type RequestFaultKind =
  | 'invalid_http'
  | 'request_timeout'
  | 'headers_too_large'
  | 'overloaded'
  | 'unknown_path'
  | 'method_not_allowed'
  | BodyFault;

/** Refuses a request before a handler sees it. `message` is a sentence for the client. Each API has its own code for the kind. */
export class RequestFault extends Error {
  override readonly name: string = 'RequestFault';
  constructor(
    readonly kind: RequestFaultKind,
    message: string,
    /** Whole seconds, at least 1; null when waiting does not help. */
    readonly retryAfterSeconds: number | null = null,
  ) {
    super(message);
  }
}

/** Required properties of each API's own error. */
export interface ApiError extends Error {
  readonly code: string;
  /** HTTP status. */
  readonly status: number;
  /** Whole seconds, at least 1. */
  readonly retryAfterSeconds: number | null;
}

/** How an API renders errors. */
export interface ErrorShape<E extends ApiError> {
  /** The whole `Content-Type` of its error bodies. */
  readonly contentType: string;
  /** The API's own error for a request that this package refuses. */
  readonly ofFault: (fault: RequestFault) => E;
  /** The error for anything else that is thrown, the API's own errors included. @returns null for an unexpected error */
  readonly ofThrown: (thrown: unknown) => E | null;
  /** Rendered for an unexpected error. Its status is 500. */
  readonly unexpected: () => E;
  /** @param requestId as in `X-Correlation-Id` */
  readonly bodyOf: (error: E, requestId: string) => string;
  /** Additional headers. */
  readonly setHeaders?: (res: Response, error: E) => void;
}

/** Translates errors to HTTP. An unexpected error is answered 500 and logged once with its causes. */
export function errorHandler<E extends ApiError>(shape: ErrorShape<E>, log: Log): ErrorRequestHandler {
  return (thrown, _req, res, _next) => {
    // The client has closed the connection.
    if (thrown instanceof ClientGone) return void res.destroy();
    const { requestId, traceId } = res.locals;
    const error = translated(thrown, shape);
    if (error === null) log.error('unexpected error', { requestId, traceId, error: thrown });
    else if (error.cause !== undefined) {
      log.warn('request refused', { requestId, traceId, code: error.code, error: error.cause });
    }
    // An answer that has begun cannot become an error, so cut it.
    if (res.headersSent) res.destroy();
    else sendError(res, error ?? shape.unexpected(), shape);
  };
}

function translated<E extends ApiError>(thrown: unknown, shape: ErrorShape<E>): E | null {
  if (thrown instanceof RequestFault) return shape.ofFault(thrown);
  // Express cannot decode the path.
  if (thrown instanceof URIError) return shape.ofFault(pathFault());
  return shape.ofThrown(thrown);
}

/** Refuses a request that no route has matched. */
export const unknownPath: RequestHandler = () => {
  throw pathFault();
};

const pathFault = (): RequestFault => new RequestFault('unknown_path', 'The path does not exist.');

/** Answers with the API's own error. */
export function sendError<E extends ApiError>(res: Response, error: E, shape: ErrorShape<E>): void {
  if (error.retryAfterSeconds !== null) res.setHeader('Retry-After', error.retryAfterSeconds);
  if (error.status === 401) res.setHeader('WWW-Authenticate', challengeTo(res.req));
  shape.setHeaders?.(res, error);
  res.locals.code = error.code;
  sendText(res, error.status, shape.contentType, shape.bodyOf(error, res.locals.requestId));
}

/** RFC 6750 section 3: what is wrong is only said of a token that was sent. */
const challengeTo = ({ headers }: Request): string =>
  `Bearer realm="Corral"${/^bearer +\S/i.test(headers.authorization ?? '') ? ', error="invalid_token"' : ''}`;

/** The client disconnected before it got an answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';

  constructor() {
    super('The client has gone away');
  }
}

/** One for all requests: none shows where it was made, and each request ends with it. */
const hasGone = new ClientGone();

/** Aborts when the client disconnects before it got an answer, and after the answer was sent. The reason is a `ClientGone`. */
export function clientGone(res: Response): AbortSignal {
  const known: AbortSignal | undefined = res.locals.gone;
  if (known !== undefined) return known;
  const gone = new AbortController();
  const leave = () => gone.abort(hasGone);
  res.locals.gone = gone.signal;
  if (res.closed) leave();
  else res.once('close', leave);
  return gone.signal;
}

/** Answers a malformed HTTP request in the error shape of an API, with a new request id. */
export function clientErrorRenderer<E extends ApiError>({
  contentType,
  ofFault,
  bodyOf,
}: ErrorShape<E>): ClientErrorRenderer {
  return (error, socket) => {
    const requestId = randomUUID();
    const { status, fault, headers = [] } = explain(error);
    const body = bodyOf(ofFault(fault), requestId);
    socket.end(
      [
        `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
        `Content-Type: ${contentType}`,
        `Content-Length: ${Buffer.byteLength(body)}`,
        `X-Correlation-Id: ${requestId}`,
        'Cache-Control: no-store',
        'Connection: close',
        ...headers,
        '',
        body,
      ].join('\r\n'),
    );
  };
}

interface Explained {
  readonly status: 400 | 405 | 408 | 431;
  readonly fault: RequestFault;
  readonly headers?: readonly string[];
}

function explain(error: NodeJS.ErrnoException): Explained {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return { status: 431, fault: new RequestFault('headers_too_large', 'The headers are too large.') };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, fault: new RequestFault('request_timeout', 'The request took too long to arrive.') };
    case 'CONNECT':
      return {
        status: 405,
        fault: new RequestFault('method_not_allowed', 'CONNECT is not supported: this service is no proxy.'),
        headers: ['Allow: GET, HEAD, POST, PUT, DELETE'],
      };
    default:
      return { status: 400, fault: new RequestFault('invalid_http', 'The request is not valid HTTP.') };
  }
}
