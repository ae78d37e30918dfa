/**
 * All errors of the gateway itself. The HTTP status is fixed per code. Errors of the upstream pass through with their
 * own status and code and are not listed here.
 */
export const dnsErrorCodes = {
  invalid_input: { status: 400, meaning: 'The request body or a query parameter is not valid.' },
  unauthorized: { status: 401, meaning: 'The token is missing, unknown, expired or revoked.' },
  forbidden: { status: 403, meaning: 'The token does not permit this request, or the course code is wrong.' },
  resource_limit_exceeded: {
    status: 403,
    meaning: 'The request would exceed a quota or the size limit of a record set.',
  },
  not_found: {
    status: 404,
    meaning: 'The zone, record set, action, demo or path does not exist, or the token has no access to it.',
  },
  method_not_allowed: {
    status: 405,
    meaning: 'The path does not support this method. `Allow` lists the supported methods.',
  },
  conflict: { status: 409, meaning: 'Another write to the same record set is still running. Send the request again.' },
  uniqueness_error: { status: 409, meaning: 'Another demo has this name, or had it within the last hour.' },
  payload_too_large: { status: 413, meaning: 'The body is larger than 1 MiB, or for demos larger than 4 KiB.' },
  unsupported_media_type: { status: 415, meaning: 'The body has a `Content-Encoding`. Send it uncompressed.' },
  rate_limit_exceeded: { status: 429, meaning: 'A request limit is exceeded. Retry after the time in `Retry-After`.' },
  server_error: {
    status: 500,
    meaning: 'Internal error of the gateway. Quote the `X-Correlation-Id` when you report it.',
  },
  upstream_unavailable: { status: 502, meaning: 'The upstream provider is unreachable or returned no usable answer.' },
  unavailable: {
    status: 503,
    meaning:
      'A dependency of the gateway is unavailable, or the gateway is overloaded. Retry after the time in `Retry-After`.',
  },
} as const satisfies Record<string, { status: number; meaning: string }>;

export type DnsErrorCode = keyof typeof dnsErrorCodes;

/** Errors of requests that cannot be read and therefore reach no operation. Only the status tells them apart. */
export const dnsErrorsBeforeRouting = [
  {
    status: 408,
    code: 'invalid_input',
    meaning: 'Headers must arrive within 10 s, the whole request within 15 s. The connection is closed.',
  },
  { status: 431, code: 'invalid_input', meaning: 'Headers, path and query are limited to 16 KiB together.' },
] as const satisfies readonly { status: number; code: DnsErrorCode; meaning: string }[];

/** Known errors of the upstream for writes. Others pass through as well. */
export const dnsUpstreamErrors = [
  { status: 403, code: 'forbidden', meaning: 'The upstream does not allow the write.' },
  { status: 404, code: 'not_found', meaning: 'The record set does not exist.' },
  { status: 409, code: 'uniqueness_error', meaning: 'The record set already exists.' },
  { status: 409, code: 'conflict', meaning: 'The record set was changed in the meantime. Send the request again.' },
  { status: 422, code: 'invalid_input', meaning: 'The values are not valid, or one of them already exists.' },
  { status: 422, code: 'incorrect_zone_mode', meaning: 'The zone is a secondary zone.' },
  { status: 422, code: 'service_error', meaning: 'The upstream could not process the request.' },
  { status: 422, code: 'unsupported_error', meaning: 'The upstream does not support this operation.' },
  { status: 423, code: 'locked', meaning: 'Another action is running on the zone or the record set.' },
  { status: 423, code: 'protected', meaning: 'The record set is protected against changes.' },
] as const;

/** The shape of `error.details` by code, as in the upstream's errors; `null` for all other codes. */
export type DnsErrorDetails =
  | { fields: { name: string; messages: string[] }[] }
  | { limits: { name: string }[] }
  | null;
