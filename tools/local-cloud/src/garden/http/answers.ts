import { gzipSync } from 'node:zlib';
import type { ErrorRequestHandler, Response } from 'express';
import type { KubeObject } from '../kube/object.js';
import { badRequest, internalError, type ResourceName, StatusError } from '../kube/status-error.js';

export const BODY_BYTES_MAX = 3 * 1024 * 1024;

/** Sends JSON under the bare media type, like an API server. Express would add a charset. */
export const sendJson = (res: Response, status: number, body: unknown): void =>
  sendText(res, status, JSON.stringify(body));

/** Longer answers are compressed for those who accept it, at this level (kubernetes: responsewriters/writers.go). */
const PLAIN_BYTES_MAX = 128 * 1024;
const GZIP_LEVEL = 1;

/** Sends JSON that is already serialized. */
export function sendText(res: Response, status: number, json: string): void {
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json');
  const bytes = Buffer.byteLength(json);
  // Like Kubernetes, which knows no weights and no wildcard here.
  const takesGzip = (res.req.get('Accept-Encoding') ?? '').split(',').some((encoding) => encoding.trim() === 'gzip');
  if (bytes > PLAIN_BYTES_MAX && takesGzip) {
    res.setHeader('Content-Encoding', 'gzip');
    // Go announces no length.
    res.write(gzipSync(json, { level: GZIP_LEVEL }));
    res.end();
    return;
  }
  res.setHeader('Content-Length', bytes);
  res.end(json);
}

/** The answer to a deletion of an object without finalizers. */
export const deletedStatus = ({ group, plural }: ResourceName, { metadata: { name, uid } }: KubeObject) => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  details: { name, ...(group === '' ? {} : { group }), kind: plural, uid },
});

/** Answers errors with a Status, including those of Express and unexpected ones. */
export const sendStatusError: ErrorRequestHandler = (error, _req, res, _next) => {
  const refusal = error instanceof StatusError ? error : refusalOf(error);
  sendJson(res, refusal.code, refusal.toStatus());
};

function refusalOf({ status, message }: { status?: number; message?: string }): StatusError {
  if (status === 413)
    return new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${BODY_BYTES_MAX}`);
  return status === 400 ? badRequest(String(message)) : internalError(String(message));
}

const usualReasons: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  400: ['BadRequest', 'injected fault'],
  401: ['Unauthorized', 'Unauthorized'],
  403: ['Forbidden', 'injected fault'],
  404: ['NotFound', 'the server could not find the requested resource'],
  409: ['Conflict', 'injected fault'],
  410: ['Expired', 'The resourceVersion for the provided watch is too old.'],
  422: ['Invalid', 'injected fault'],
  429: ['TooManyRequests', 'the server has received too many requests and has asked us to try again later'],
  500: ['InternalError', 'Internal error occurred: injected fault'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: ['Timeout', 'the server was unable to return a response in the time allotted'],
};

/** An injected error in the format of a Kubernetes API server. */
export function renderFault(status: number, code: string | undefined, message: string, retryAfter?: number): unknown {
  const [reason, usual] = usualReasons[status] ?? ['', message];
  const words = message === 'injected fault' ? usual : message;
  const details = retryAfter === undefined ? undefined : { retryAfterSeconds: retryAfter };
  return new StatusError(status, code ?? reason, words, details).toStatus();
}
