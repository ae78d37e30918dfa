import type { Request } from 'express';
import { invalidInput } from '../api-error.js';

/** All values of a query parameter: upstream lists are repeated keys, not commas. */
export function queryValues(req: Request, key: string): string[] {
  const value = req.query[key];
  return (Array.isArray(value) ? value : [value]).filter((item): item is string => typeof item === 'string');
}

export const queryValue = (req: Request, key: string): string | undefined => queryValues(req, key).at(-1);

export interface PageRequest {
  readonly page: number;
  readonly perPage: number;
}

/** `per_page` above the maximum is clamped. @throws ApiError `invalid_input` below 1 or for no integer */
export function parsePage(req: Request, perPageMax: number): PageRequest {
  const read = (key: string, absent: number): number => {
    const text = queryValue(req, key);
    if (text === undefined || text === '') return absent;
    const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (value < 1) throw invalidInput(key, 'must be a positive integer');
    return value;
  };
  return { page: read('page', 1), perPage: Math.min(read('per_page', 25), perPageMax) };
}

/** One key to sort by, made of the field and the direction. */
export type SortKey<T> = Readonly<Record<string, (item: T) => string | number>>;

/**
 * Sorts by the `sort` parameters in their order, `field`, `field:asc` or `field:desc`; without any, by the order given.
 *
 * @throws ApiError `invalid_input` for a field that is not one of `keys`
 */
export function sortItems<T>(items: readonly T[], sorts: readonly string[], keys: SortKey<T>): readonly T[] {
  if (sorts.length === 0) return items;
  const orders = sorts.map((sort) => {
    const [field = '', direction = 'asc', ...rest] = sort.split(':');
    const key = Object.hasOwn(keys, field) ? keys[field] : undefined;
    if (key === undefined || rest.length > 0 || (direction !== 'asc' && direction !== 'desc')) {
      throw invalidInput('sort', `invalid sort '${sort}'`);
    }
    return { key, sign: direction === 'asc' ? 1 : -1 };
  });
  return [...items].sort((a, b) => {
    for (const { key, sign } of orders) {
      const [left, right] = [key(a), key(b)];
      if (left !== right) return left < right ? -sign : sign;
    }
    return 0;
  });
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly pagination: {
    readonly page: number;
    readonly per_page: number;
    readonly previous_page: number | null;
    readonly next_page: number | null;
    readonly last_page: number;
    readonly total_entries: number;
  };
}

export function pageOf<T>(items: readonly T[], { page, perPage }: PageRequest): Page<T> {
  const lastPage = Math.max(1, Math.ceil(items.length / perPage));
  return {
    items: items.slice((page - 1) * perPage, page * perPage),
    pagination: {
      page,
      per_page: perPage,
      previous_page: page > 1 ? page - 1 : null,
      next_page: page < lastPage ? page + 1 : null,
      last_page: lastPage,
      total_entries: items.length,
    },
  };
}

/** The `Link` header of a page: absolute addresses of the real host, as the upstream sends them. */
export function linkHeader(pathAndQuery: string, { pagination }: Page<unknown>): string {
  const address = (page: number): string => {
    const url = new URL(pathAndQuery.replace(/^\/+/, '/'), 'https://api.hetzner.cloud');
    url.searchParams.set('page', String(page));
    return url.href;
  };
  const relations: [string, number | null][] = [
    ['prev', pagination.previous_page],
    ['next', pagination.next_page],
    ['last', pagination.last_page],
  ];
  return relations.flatMap(([rel, page]) => (page === null ? [] : [`<${address(page)}>; rel="${rel}"`])).join(', ');
}
