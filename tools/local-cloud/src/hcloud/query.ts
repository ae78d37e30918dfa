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

/** Answers with the requested page of a list. `per_page` above the maximum is clamped. */
export function sendPage<T>(
  res: Response,
  key: string,
  all: readonly T[],
  render: (item: T) => unknown,
  perPageMax = 50,
): void {
  const page = Number(queryValue(res.req, 'page') ?? 1);
  const perPage = Math.min(Number(queryValue(res.req, 'per_page') ?? 25), perPageMax);
  const lastPage = Math.max(1, Math.ceil(all.length / perPage));
  const pagination = {
    page,
    per_page: perPage,
    previous_page: page > 1 ? page - 1 : null,
    next_page: page < lastPage ? page + 1 : null,
    last_page: lastPage,
    total_entries: all.length,
  };
  res.json({ [key]: all.slice((page - 1) * perPage, page * perPage).map(render), meta: { pagination } });
}
