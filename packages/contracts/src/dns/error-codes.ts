/**
 * Every error the gateway makes itself: the HTTP status belongs to the code. What the upstream refuses passes
 * through with the upstream's own status and code and is not listed here.
 */
export const dnsErrorCodes = {
  invalid_input: { status: 400, meaning: 'The body or a query parameter is not what the endpoint takes.' },
  unauthorized: { status: 401, meaning: 'No token, or an unknown, expired or revoked one.' },
  forbidden: {
    status: 403,
    meaning: 'The token lacks the scope, or does not cover this; or the course code is wrong.',
  },
  resource_limit_exceeded: { status: 403, meaning: 'The request would take its owner or the record set past a limit.' },
  not_found: { status: 404, meaning: 'No such zone, record set, action, demo or path for this token.' },
  method_not_allowed: { status: 405, meaning: 'The path exists, the method does not. `Allow` lists those that do.' },
  conflict: { status: 409, meaning: 'Another write to the same record set is not finished. Send the request again.' },
  uniqueness_error: { status: 409, meaning: 'The name of the demo is taken, or was until less than an hour ago.' },
  payload_too_large: { status: 413, meaning: 'The body is larger than 1 MiB; for demos, larger than 4 KiB.' },
  unsupported_media_type: { status: 415, meaning: 'The body has a `Content-Encoding`. Send it uncompressed.' },
  rate_limit_exceeded: { status: 429, meaning: 'A request limit is exceeded. Retry after the time in `Retry-After`.' },
  server_error: { status: 500, meaning: 'A fault of the gateway. Quote the `X-Correlation-Id` when you report it.' },
  upstream_unavailable: { status: 502, meaning: 'The upstream provider cannot be reached or gave no usable answer.' },
  unavailable: {
    status: 503,
    meaning: 'A dependency of the gateway is away, or it has too much to do. Retry after `Retry-After`.',
  },
} as const satisfies Record<string, { status: number; meaning: string }>;

export type DnsErrorCode = keyof typeof dnsErrorCodes;

/** What the upstream is known to refuse writes with. It may know more: whatever it says passes through. */
export const dnsUpstreamErrors = [
  { status: 404, code: 'not_found', meaning: 'There is no such record set.' },
  { status: 409, code: 'uniqueness_error', meaning: 'The record set exists already.' },
  { status: 409, code: 'conflict', meaning: 'It was changed meanwhile. Send the request again.' },
  { status: 422, code: 'invalid_input', meaning: 'The upstream does not take the values, or has one of them already.' },
  { status: 422, code: 'incorrect_zone_mode', meaning: 'The zone is a secondary one.' },
  { status: 422, code: 'service_error', meaning: 'The upstream could not do it.' },
  { status: 422, code: 'unsupported_error', meaning: 'The upstream does not support it.' },
  { status: 423, code: 'locked', meaning: 'Another action works on the zone or the record set.' },
  { status: 423, code: 'protected', meaning: 'The record set is protected against changes.' },
] as const;

/** What `error.details` holds, by code, in the upstream's shapes; `null` for all other codes. */
export type DnsErrorDetails =
  | { fields: { name: string; messages: string[] }[] }
  | { limits: { name: string }[] }
  | null;
