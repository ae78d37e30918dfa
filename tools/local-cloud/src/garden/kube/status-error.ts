/** What is wrong with a field, in words that follow its path. */
export interface FieldError {
  /** For example `spec.provider.workers[0].name`. */
  readonly field: string;
  readonly message: string;
}

/** Several errors as one text: a single error unchanged, several in brackets. */
export function aggregate(errors: readonly FieldError[]): string {
  const lines = errors.map(({ field, message }) => `${field}: ${message}`);
  return lines.length === 1 ? (lines[0] ?? '') : `[${lines.join(', ')}]`;
}

export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
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
    readonly details?: StatusDetails,
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

/** `shoots.core.gardener.cloud "web"`. The core group is omitted. */
const quoted = ({ group, plural }: ResourceName, name: string): string =>
  `${group === '' ? plural : `${plural}.${group}`} ${JSON.stringify(name)}`;

const detailsOf = ({ group, plural }: ResourceName, name: string): StatusDetails => ({
  ...(name === '' ? {} : { name }),
  ...(group === '' ? {} : { group }),
  kind: plural,
});

export const badRequest = (message: string): StatusError => new StatusError(400, 'BadRequest', message);

export const unauthorized = (): StatusError => new StatusError(401, 'Unauthorized', 'Unauthorized');

/** A refusal by admission. {@link refusedByRbac} has the other 403 text. */
export const forbidden = (resource: ResourceName, name: string, why: string): StatusError =>
  new StatusError(403, 'Forbidden', `${quoted(resource, name)} is forbidden: ${why}`, detailsOf(resource, name));

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
  new StatusError(404, 'NotFound', `${quoted(resource, name)} not found`, detailsOf(resource, name));

export const pathNotFound = (): StatusError =>
  new StatusError(404, 'NotFound', 'the server could not find the requested resource', {});

export const methodNotAllowed = (): StatusError =>
  new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});

export const alreadyExists = (resource: ResourceName, name: string): StatusError =>
  new StatusError(409, 'AlreadyExists', `${quoted(resource, name)} already exists`, detailsOf(resource, name));

export const conflict = (resource: ResourceName, name: string, why: string): StatusError =>
  new StatusError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${quoted(resource, name)}: ${why}`,
    detailsOf(resource, name),
  );

export const modifiedMeanwhile = (resource: ResourceName, name: string): StatusError =>
  conflict(
    resource,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  );

export const expired = (message: string): StatusError => new StatusError(410, 'Expired', message);

export const notAcceptable = (message: string): StatusError => new StatusError(406, 'NotAcceptable', message);

export const unsupportedMediaType = (accepted: readonly string[]): StatusError =>
  new StatusError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );

export function invalidObject(resource: ResourceName, name: string, errors: readonly FieldError[]): StatusError {
  const { group, kind } = resource;
  const full = group === '' ? kind : `${kind}.${group}`;
  return new StatusError(422, 'Invalid', `${full} ${JSON.stringify(name)} is invalid: ${aggregate(errors)}`, {
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { group }),
    kind,
    causes: errors.map(({ message, field }) => ({ reason: 'FieldValueInvalid', message, field })),
  });
}

export const internalError = (message: string): StatusError =>
  new StatusError(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });
