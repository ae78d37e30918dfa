import type { Kind } from './kinds.js';

/** What messages name of a kind. */
type ResourceName = Pick<Kind, 'group' | 'plural' | 'kind'>;

const usualReasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** An error as a Kubernetes `Status`. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  constructor(
    readonly code: number,
    message: string,
    readonly details: object = {},
    readonly reason = usualReasons[code] ?? '',
  ) {
    super(message);
  }

  toStatus() {
    const { code, reason, message, details } = this;
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, details, code };
  }
}

/** An injected error in the format of a Kubernetes API server. */
export function renderFault(status: number, code: string | undefined, message: string, retryAfter?: number): unknown {
  const details = retryAfter === undefined ? {} : { retryAfterSeconds: retryAfter };
  return new StatusError(status, message, details, code).toStatus();
}

/** An error about one object. Its details name it, which tells an absent object from an unknown path. */
function errorAbout({ group, plural }: ResourceName, name: string, code: number, message: string, reason?: string) {
  return new StatusError(code, message, { ...(name === '' ? {} : { name }), group, kind: plural }, reason);
}

/** `shoots.core.gardener.cloud "web"`. The core group is omitted. */
const quoted = ({ group, plural }: ResourceName, name: string): string =>
  `${group === '' ? plural : `${plural}.${group}`} ${JSON.stringify(name)}`;

export const badRequest = (message: string): StatusError => new StatusError(400, message);

export const unauthorized = (): StatusError => new StatusError(401, 'Unauthorized');

/** A refusal by admission. {@link refusedByRbac} has the other 403 text. */
export const forbidden = (resource: ResourceName, name: string, why: string): StatusError =>
  errorAbout(resource, name, 403, `${quoted(resource, name)} is forbidden: ${why}`);

/** @param request `resource` with its subresource, for example `shoots/adminkubeconfig` */
export function refusedByRbac(
  kind: ResourceName,
  request: { user: string; verb: string; resource: string; namespace: string; name: string },
): StatusError {
  const { user, verb, resource, name, namespace } = request;
  const scope = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const why = `User "${user}" cannot ${verb} resource "${resource}" in API group "${kind.group}" ${scope}`;
  return forbidden(kind, name, why);
}

export const notFound = (resource: ResourceName, name: string): StatusError =>
  errorAbout(resource, name, 404, `${quoted(resource, name)} not found`);

export const pathNotFound = (): StatusError => new StatusError(404, 'the server could not find the requested resource');

export const conflict = (resource: ResourceName, name: string, why: string): StatusError =>
  errorAbout(resource, name, 409, `Operation cannot be fulfilled on ${quoted(resource, name)}: ${why}`);

export const alreadyExists = (resource: ResourceName, name: string): StatusError =>
  errorAbout(resource, name, 409, `${quoted(resource, name)} already exists`, 'AlreadyExists');

export function invalidObject(resource: ResourceName, name: string, field: string, message: string): StatusError {
  const { group, kind } = resource;
  const full = group === '' ? kind : `${kind}.${group}`;
  const causes = [{ reason: 'FieldValueInvalid', message, field }];
  const details = { name, group, kind, causes };
  return new StatusError(422, `${full} ${JSON.stringify(name)} is invalid: ${field}: ${message}`, details);
}

export const internalError = (message: string): StatusError =>
  new StatusError(500, `Internal error occurred: ${message}`, { causes: [{ message }] });
