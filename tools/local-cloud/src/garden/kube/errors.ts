/** What is wrong with a field, in words that follow its path. */
export interface FieldError {
  /** A path such as `spec.provider.workers[0].name`. */
  readonly field: string;
  readonly message: string;
}

/** Several errors as one text: a single error unchanged, several in brackets. */
export function aggregate(errors: readonly FieldError[]): string {
  const lines = errors.map(({ field, message }) => `${field}: ${message}`);
  return lines.length === 1 ? (lines[0] ?? '') : `[${lines.join(', ')}]`;
}

/** Identifies a resource in messages. */
export interface ResourceName {
  /** Empty for the core group. */
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

/** An error as a Kubernetes `Status`. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
    readonly details?: object,
  ) {
    super(message);
  }

  toStatus() {
    const { code, reason, message, details } = this;
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      ...(reason === '' ? {} : { reason }),
      ...(details === undefined ? {} : { details }),
      code,
    };
  }
}

/** An error about one object. Its details name it, which tells an absent object from an unknown path. */
function errorAbout({ group, plural }: ResourceName, name: string, code: number, reason: string, message: string) {
  const details = { ...(name === '' ? {} : { name }), ...(group === '' ? {} : { group }), kind: plural };
  return new StatusError(code, reason, message, details);
}

/** `shoots.core.gardener.cloud "web"`. The core group is omitted. */
const quoted = ({ group, plural }: ResourceName, name: string): string =>
  `${group === '' ? plural : `${plural}.${group}`} ${JSON.stringify(name)}`;

export const badRequest = (message: string): StatusError => new StatusError(400, 'BadRequest', message);

export const unauthorized = (): StatusError => new StatusError(401, 'Unauthorized', 'Unauthorized');

/** A refusal by admission. {@link refusedByRbac} has the other 403 text. */
export const forbidden = (resource: ResourceName, name: string, why: string): StatusError =>
  errorAbout(resource, name, 403, 'Forbidden', `${quoted(resource, name)} is forbidden: ${why}`);

export function refusedByRbac(
  resource: ResourceName,
  request: { user: string; verb: string; name: string; namespace: string; subresource: string },
): StatusError {
  const { user, verb, name, namespace, subresource } = request;
  const full = subresource === '' ? resource.plural : `${resource.plural}/${subresource}`;
  const scope = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const why = `User "${user}" cannot ${verb} resource "${full}" in API group "${resource.group}" ${scope}`;
  return forbidden(resource, name, why);
}

/** The 403 text for paths that are not resources. */
export const refusedPath = (user: string, verb: string, path: string): StatusError =>
  new StatusError(403, 'Forbidden', `forbidden: User "${user}" cannot ${verb} path "${path}"`, {});

export const notFound = (resource: ResourceName, name: string): StatusError =>
  errorAbout(resource, name, 404, 'NotFound', `${quoted(resource, name)} not found`);

export const pathNotFound = (): StatusError =>
  new StatusError(404, 'NotFound', 'the server could not find the requested resource', {});

export const methodNotAllowed = (): StatusError =>
  new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});

export const alreadyExists = (resource: ResourceName, name: string): StatusError =>
  errorAbout(resource, name, 409, 'AlreadyExists', `${quoted(resource, name)} already exists`);

export const conflict = (resource: ResourceName, name: string, why: string): StatusError =>
  errorAbout(resource, name, 409, 'Conflict', `Operation cannot be fulfilled on ${quoted(resource, name)}: ${why}`);

export const otherUid = (resource: ResourceName, name: string, uid: unknown, own?: string): StatusError =>
  conflict(resource, name, `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${own}`);

export const expired = (message: string): StatusError => new StatusError(410, 'Expired', message);

export const unsupportedMediaType = (accepted: readonly string[]): StatusError =>
  new StatusError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );

export function invalidObject(resource: ResourceName, name: string, field: string, message: string): StatusError {
  const { group, kind } = resource;
  const full = group === '' ? kind : `${kind}.${group}`;
  return new StatusError(422, 'Invalid', `${full} ${JSON.stringify(name)} is invalid: ${field}: ${message}`, {
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { group }),
    kind,
    causes: [{ reason: 'FieldValueInvalid', message, field }],
  });
}

export const internalError = (message: string): StatusError =>
  new StatusError(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });

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
