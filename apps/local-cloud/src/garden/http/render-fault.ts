import { StatusError } from '../kube/status-error.js';

const usualReasons: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  400: ['BadRequest', 'injected fault'],
  401: ['Unauthorized', 'Unauthorized'],
  403: ['Forbidden', 'injected fault'],
  404: ['NotFound', 'the server could not find the requested resource'],
  409: ['Conflict', 'injected fault'],
  410: ['Expired', 'The resourceVersion for the provided watch is too old.'],
  413: ['RequestEntityTooLarge', 'injected fault'],
  415: ['UnsupportedMediaType', 'injected fault'],
  422: ['Invalid', 'injected fault'],
  429: ['TooManyRequests', 'the server has received too many requests and has asked us to try again later'],
  500: ['InternalError', 'Internal error occurred: injected fault'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: ['Timeout', 'the server was unable to return a response in the time allotted'],
};

/** An injected error in the words of a Kubernetes API server. */
export function renderFault(status: number, code: string | undefined, message: string, retryAfter?: number): unknown {
  const [reason, usual] = usualReasons[status] ?? ['', message];
  const words = message === 'injected fault' ? usual : message;
  const details = retryAfter === undefined ? undefined : { retryAfterSeconds: retryAfter };
  return new StatusError(status, code ?? reason, words, details).toStatus();
}
