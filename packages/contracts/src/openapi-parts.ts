/* Building blocks of the OpenAPI documents of both APIs. */

export interface Example {
  readonly summary: string;
  readonly value: unknown;
}
/** Keyed by a name that is unique within one body. */
export type Examples = Readonly<Record<string, Example>>;

export interface AnswerHeader {
  readonly description: string;
  readonly schema: object;
}

const count = { type: 'integer', minimum: 0 } as const;

/** Headers shared by several answers, by name. */
export const answerHeaders = {
  'X-Correlation-Id': {
    description: 'Id of the request. Include it in problem reports.',
    schema: { type: 'string', pattern: '^[0-9a-f-]{36}$' },
  },
  'RateLimit-Limit': { description: 'Size of the limit that is closest to being reached.', schema: count },
  'RateLimit-Remaining': { description: 'Remaining requests of that limit.', schema: count },
  'RateLimit-Reset': { description: 'Unix time at which the limit is full again.', schema: count },
  'Retry-After': {
    description:
      'Seconds to wait before repeating the request. Of an operation that has not ended, and with 202: seconds after which a look ' +
      'at it may show something new.',
    schema: count,
  },
  'WWW-Authenticate': {
    description: '`Bearer`, with `error="invalid_token"` if a token was sent (RFC 6750).',
    schema: { type: 'string' },
  },
  Allow: { description: 'The methods that the path supports.', schema: { type: 'string' } },
} as const satisfies Record<string, AnswerHeader>;

/** What clients of this version must expect from later ones. */
export const mayBeAdded =
  'Later releases may add members to answers, optional members and parameters to requests, headers, routes, error codes, and ' +
  'values to the enumerations that say so. Clients must ignore what they do not know.';

/** A sentence about requests to operations without a body. */
export const bodyNotTaken =
  'An operation without a request body, other than a GET, takes none or an empty one (`{}` or `null`), and refuses any other.';

const always = ['X-Correlation-Id', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];

export const refTo = (section: 'schemas' | 'headers' | 'examples', name: string) => ({
  $ref: `#/components/${section}/${name}`,
});

/** References to the headers of an answer: the common ones, those of its status, and `more`. */
export function headersOf(status: number, more: readonly string[] = []): object {
  const names = [
    ...always,
    ...([429, 502, 503].includes(status) ? ['Retry-After'] : []),
    ...(status === 401 ? ['WWW-Authenticate'] : []),
    ...(status === 405 ? ['Allow'] : []),
    ...more,
  ];
  return Object.fromEntries(names.map((name) => [name, refTo('headers', name)]));
}

/** The names in braces, in order. */
export const pathParametersOf = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string);

/** Groups codes by status and keeps the order of both. */
export function byStatus<C extends string>(codes: readonly C[], statusOf: (code: C) => number): [number, C[]][] {
  const groups = new Map<number, C[]>();
  for (const code of codes) groups.set(statusOf(code), [...(groups.get(statusOf(code)) ?? []), code]);
  return [...groups];
}
