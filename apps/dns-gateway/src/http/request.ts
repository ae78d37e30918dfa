import {
  actionStatuses,
  dnsBodyLimits,
  dnsLimits,
  type Pagination,
  parseNumber,
  sortFields,
  sortPattern,
} from '@corral/contracts';
import type { ActionSortKey, LabelRequirement, RrsetSelection, SortKey } from '@corral/dns-data';
import { type IsRespelled, jsonObjectOf } from '@corral/http-api';
import type { Request } from 'express';
import { DnsError, invalidInput } from '../dns-error.js';

/*
 * What a request says: its body and its query.
 */

/**
 * The body of a write as a JSON object, beside its very bytes, which are what is forwarded.
 *
 * @throws DnsError `invalid_input` for another content type
 * @throws RequestFault for what is no JSON object, is past its bounds, or what two parsers could read differently
 */
export function jsonObjectBody(
  req: Request,
  bounds: (typeof dnsBodyLimits)[keyof typeof dnsBodyLimits] = dnsBodyLimits.recordSets,
): { bytes: Buffer; value: object } {
  return jsonObjectOf(req, {
    bounds,
    isRespelled,
    takesType: (type) => type === undefined || /^application\/json\s*(;|$)/i.test(type),
    refuseType: () =>
      new DnsError('invalid_input', 'The body must be JSON. Send it with Content-Type: application/json.'),
  });
}

const checkedMembers = new Set(['name', 'type', 'ttl', 'labels', 'records', 'value', 'comment']);

/** Folds by way of capitals, because decoders that ignore case take a long s (U+017F) for an s, too: `recordſ` is `records`. */
function foldCase(member: string): string {
  return member.toUpperCase().toLowerCase();
}

/**
 * Whether a member is one of those that are checked, in another case: which of them counts differs between parsers, so
 * what is checked here might not be what the upstream reads.
 */
export const isRespelled: IsRespelled = (member, top) => {
  if (top === 'labels') return false;
  const folded = foldCase(member);
  return folded !== member && checkedMembers.has(folded);
};

export interface Page {
  readonly page: number;
  readonly perPage: number;
}

export type RrsetQuery = Page & RrsetSelection;

/**
 * Reads `page` and `per_page`. More than 50 per page counts as 50: clients of the upstream ask for 100 and follow
 * `last_page`.
 *
 * @throws DnsError `invalid_input` unless the value is an integer of at least 1
 */
export function parsePage(query: URLSearchParams): Page {
  return {
    page: positiveInteger(query, 'page') ?? 1,
    perPage: Math.min(positiveInteger(query, 'per_page') ?? dnsLimits.perPageDefault, dnsLimits.perPageMax),
  };
}

const firstPage: RrsetQuery = {
  page: 1,
  perPage: dnsLimits.perPageDefault,
  name: null,
  types: [],
  labels: null,
  sort: [],
};

/** @throws DnsError `invalid_input` with the name of the parameter */
export function parseRrsetQuery(query: URLSearchParams): RrsetQuery {
  // The most common one.
  if (query.size === 0) return firstPage;
  return { ...parsePage(query), name: query.get('name'), types: query.getAll('type'), ...parseSelection(query) };
}

/** `label_selector` and `sort`, which all lists have. */
export function parseSelection(query: URLSearchParams) {
  const selector = query.get('label_selector');
  const labels = selector === null || selector === '' ? null : parseLabelSelector(selector);
  if (labels === undefined) throw invalidInput('label_selector', 'must be a selector such as env=prod,tier!=cache');
  return { labels, sort: query.getAll('sort').map(parseSortKey) };
}

const setSort = new RegExp(sortPattern(sortFields.sets));
const actionSort = new RegExp(sortPattern(sortFields.actions));

/** @throws DnsError `invalid_input` with the name of the parameter */
export function parseActionQuery(query: URLSearchParams) {
  const statuses = query.getAll('status');
  if (!statuses.every((status) => (actionStatuses as readonly string[]).includes(status))) {
    throw invalidInput('status', `must be one of ${actionStatuses.join(', ')}`);
  }
  const sort = query.getAll('sort').map((text): ActionSortKey => {
    const match = actionSort.exec(text);
    if (match === null) {
      throw invalidInput(
        'sort',
        'must be id, command, status, started or finished, optionally followed by :asc or :desc',
      );
    }
    return { by: match[1] as ActionSortKey['by'], descending: match[2] === 'desc' };
  });
  return { ...parsePage(query), statuses, sort };
}

/** Action ids in the given order. Other keys are ignored, because clients also send `page` and `sort`. */
export function parseActionIds(query: URLSearchParams): number[] {
  const texts = query.getAll('id');
  if (texts.length === 0) throw invalidInput('id', 'is required: send at least one action ID');
  if (texts.length > dnsLimits.actionIdsPerRequest) {
    throw invalidInput('id', `may be sent at most ${dnsLimits.actionIdsPerRequest} times`);
  }
  return texts.map((text) => {
    const id = parseNumber(text);
    if (id === null) throw invalidInput('id', 'must be the whole number of an action');
    return id;
  });
}

/** The items of one page. */
export function pageOf<T>(items: readonly T[], { page, perPage }: Page): T[] {
  const first = (page - 1) * perPage;
  return items.slice(first, first + perPage);
}

/** Exactly the six keys that clients know. The total counts entries after the team's filter. */
export function paginationOf({ page, perPage }: Page, total: number): Pagination {
  const lastPage = Math.max(1, Math.ceil(total / perPage));
  return {
    page,
    per_page: perPage,
    previous_page: page > 1 ? Math.min(page - 1, lastPage) : null,
    next_page: page < lastPage ? page + 1 : null,
    last_page: lastPage,
    total_entries: total,
  };
}

function positiveInteger(query: URLSearchParams, key: string): number | null {
  const texts = query.getAll(key);
  if (texts.length === 0) return null;
  const value = texts.length === 1 ? parseNumber(texts[0] as string) : null;
  if (value === null) throw invalidInput(key, 'must be one whole number of at least 1');
  return value;
}

function parseSortKey(text: string): SortKey {
  const match = setSort.exec(text);
  if (match === null) {
    throw invalidInput('sort', 'must be id, name or created, optionally followed by :asc or :desc');
  }
  return { by: match[1] as SortKey['by'], descending: match[2] === 'desc' };
}

export type Labels = Readonly<Record<string, string>>;

const key = '[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?';
const value = '(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?';
const existence = new RegExp(`^(!?)\\s*(${key})$`);
const equality = new RegExp(`^(${key})\\s*(==|=|!=)\\s*(${value})$`);
const membership = new RegExp(`^(${key})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const valueOnly = new RegExp(`^${value}$`);
/** Longer selectors are not legitimate, and splitting takes quadratic time. */
const CHARACTERS_MAX = 2_048;

/**
 * Reads the upstream's selector language: `k`, `!k`, `k=v`, `k==v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, joined by
 * commas that mean "and". As in Kubernetes, the negative forms also match where the label is absent.
 *
 * @returns undefined for an invalid selector
 */
export function parseLabelSelector(text: string): LabelRequirement[] | undefined {
  if (text.length > CHARACTERS_MAX) return undefined;
  const requirements: LabelRequirement[] = [];
  for (const part of splitOutsideParentheses(text)) {
    const requirement = parseRequirement(part.trim());
    if (requirement === undefined) return undefined;
    requirements.push(requirement);
  }
  return requirements;
}

/** Whether the labels satisfy all requirements. */
export function fitsLabels(requirements: readonly LabelRequirement[], labels: Labels): boolean {
  return requirements.every(({ key: name, values, negated }) => {
    const present = Object.hasOwn(labels, name);
    const fits = present && (values === null || values.includes(labels[name] as string));
    return fits !== negated;
  });
}

function parseRequirement(text: string): LabelRequirement | undefined {
  const exists = existence.exec(text);
  if (exists !== null) {
    const [, negation, name] = exists as unknown as [string, string, string];
    return { key: name, values: null, negated: negation !== '' };
  }
  const equals = equality.exec(text);
  if (equals !== null) {
    const [, name, operator, wanted] = equals as unknown as [string, string, string, string];
    return { key: name, values: [wanted], negated: operator === '!=' };
  }
  const member = membership.exec(text);
  if (member === null) return undefined;
  const [, name, operator, list] = member as unknown as [string, string, string, string];
  const values = list.split(',').map((item) => item.trim());
  return values.every((item) => valueOnly.test(item))
    ? { key: name, values, negated: operator === 'notin' }
    : undefined;
}

function splitOutsideParentheses(text: string): string[] {
  return text.split(/,(?![^(]*\))/);
}
