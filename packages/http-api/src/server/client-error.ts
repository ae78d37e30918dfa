import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { type ApiError, type ErrorShape, RequestFault } from '../errors.js';
import type { ClientErrorRenderer } from './http-server.js';

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
