import type { Request, Response } from 'express';
import { type LabelTest, parseLabelSelector } from '../labels.js';
import { invalidInput } from './api-error.js';

/** All values of a query parameter. The upstream repeats keys for lists, without commas. */
export function queryValues(req: Request, key: string): string[] {
  const value = req.query[key];
  return (Array.isArray(value) ? value : [value]).filter((item): item is string => typeof item === 'string');
}

export const queryValue = (req: Request, key: string): string | undefined => queryValues(req, key).at(-1);

/** The predicate of the parameter `label_selector`. @throws ApiError `invalid_input` */
export function labelTest(req: Request): LabelTest {
  const selector = queryValue(req, 'label_selector') ?? '';
  return parseLabelSelector(selector, () => invalidInput('label_selector', `invalid label selector '${selector}'`));
}

interface PageRequest {
  readonly page: number;
  readonly perPage: number;
}

/** `per_page` above the maximum is clamped. @throws ApiError `invalid_input` below 1 or for a non-integer */
function parsePage(req: Request, perPageMax: number): PageRequest {
  const read = (key: string, absent: number): number => {
    const text = queryValue(req, key);
    if (text === undefined || text === '') return absent;
    const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (value < 1) throw invalidInput(key, 'must be a positive integer');
    return value;
  };
  return { page: read('page', 1), perPage: Math.min(read('per_page', 25), perPageMax) };
}

export function pageOf<T>(items: readonly T[], { page, perPage }: PageRequest) {
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

/** Answers with the requested page of a list. */
export function sendPage<T>(
  res: Response,
  key: string,
  all: readonly T[],
  render: (item: T) => unknown,
  perPageMax = 50,
): void {
  const { items, pagination } = pageOf(all, parsePage(res.req, perPageMax));
  res.json({ [key]: items.map(render), meta: { pagination } });
}
