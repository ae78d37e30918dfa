import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { ClientErrorRenderer } from './http-server.js';

/** What is wrong with bytes that are no request. */
export interface ClientFailure {
  readonly status: 400 | 408 | 431;
  /** For the client. */
  readonly message: string;
  readonly requestId: string;
}

export interface ClientErrorOptions {
  readonly contentType: string;
  /** Makes the body, in the shape of the API. */
  readonly bodyOf: (failure: ClientFailure) => string;
}

/** Answers what is no HTTP request in the shape of an API, with an id of its own. */
export function clientErrorRenderer({ contentType, bodyOf }: ClientErrorOptions): ClientErrorRenderer {
  return (error, socket) => {
    const requestId = randomUUID();
    const [status, message] = explain(error);
    const body = bodyOf({ status, message, requestId });
    socket.end(
      [
        `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
        `Content-Type: ${contentType}`,
        `Content-Length: ${Buffer.byteLength(body)}`,
        `X-Correlation-Id: ${requestId}`,
        'Cache-Control: no-store',
        'Connection: close',
        '',
        body,
      ].join('\r\n'),
    );
  };
}

function explain(error: NodeJS.ErrnoException): [ClientFailure['status'], string] {
  if (error.code === 'HPE_HEADER_OVERFLOW') return [431, 'The headers are too large.'];
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'The request took too long to arrive.'];
  return [400, 'The request is not valid HTTP.'];
}
