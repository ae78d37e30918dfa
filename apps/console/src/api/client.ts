import type { Changed, ItemOf, ListPath, Method, PathOf, PathParams, Read } from './contract.js';
import { noAnswer, problemOf } from './problem.js';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface ChangeOptions {
  readonly body?: unknown;
  readonly query?: Query;
  /** Entity tag that the resource must still have. */
  readonly ifMatch?: string;
  /** `*`: the resource must not exist yet. */
  readonly ifNoneMatch?: string;
  /** Makes a repeated POST safe: the same key gives the first answer again. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

export interface Answer<T> {
  readonly status: number;
  readonly body: T;
  readonly etag: string | null;
}

const LIST_PAGE_SIZE = 200;

/** Fills in the parameters of a path. */
function pathWith(path: string, params: Readonly<Record<string, string | number>>, query: Query = {}): string {
  const filled = path.replace(/\{([^}]+)\}/g, (_all, name: string) => encodeURIComponent(String(params[name])));
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return given.length === 0 ? filled : `${filled}?${new URLSearchParams(given.map(([k, v]) => [k, String(v)]))}`;
}

/** @throws ApiProblem when the API refuses, or does not answer */
async function exchange<T>(method: string, url: string, options: ChangeOptions = {}): Promise<Answer<T>> {
  const { body, ifMatch, ifNoneMatch, idempotencyKey, signal } = options;
  const headers = new Headers({ Accept: 'application/json' });
  if (body !== undefined) headers.set('Content-Type', 'application/json');
  if (ifMatch !== undefined) headers.set('If-Match', ifMatch);
  if (ifNoneMatch !== undefined) headers.set('If-None-Match', ifNoneMatch);
  if (idempotencyKey !== undefined) headers.set('Idempotency-Key', idempotencyKey);
  const response = await fetch(url, {
    method,
    headers,
    credentials: 'same-origin',
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw noAnswer(error);
  });
  if (!response.ok) throw await problemOf(response);
  const text = await response.text().catch((error: unknown) => {
    throw noAnswer(error);
  });
  return {
    status: response.status,
    body: (text === '' ? undefined : JSON.parse(text)) as T,
    etag: response.headers.get('ETag'),
  };
}

/** Reads one resource. @throws ApiProblem */
export async function read<P extends PathOf<'get'>>(
  path: P,
  params: PathParams<P>,
  { query, signal }: { readonly query?: Query; readonly signal?: AbortSignal } = {},
): Promise<Read<P>> {
  const url = pathWith(path, params, query);
  const { body } = await exchange<Read<P>>('GET', url, signal === undefined ? {} : { signal });
  return body;
}

/** Reads all pages of a list. @throws ApiProblem */
export async function readAll<P extends ListPath>(
  path: P,
  params: PathParams<P>,
  { query = {}, signal }: { readonly query?: Query; readonly signal?: AbortSignal } = {},
): Promise<ItemOf<P>[]> {
  const items: ItemOf<P>[] = [];
  let cursor: string | undefined;
  do {
    const url = pathWith(path, params, { limit: LIST_PAGE_SIZE, ...query, cursor });
    const { body } = await exchange<{ items: ItemOf<P>[]; next: string | null }>('GET', url, signal ? { signal } : {});
    items.push(...body.items);
    cursor = body.next ?? undefined;
  } while (cursor !== undefined);
  return items;
}

/** Requests a change. @throws ApiProblem */
export function change<M extends Exclude<Method, 'get'>, P extends PathOf<M>>(
  method: M,
  path: P,
  params: PathParams<P>,
  options: ChangeOptions = {},
): Promise<Answer<Changed<M, P>>> {
  return exchange<Changed<M, P>>(method.toUpperCase(), pathWith(path, params, options.query), options);
}
