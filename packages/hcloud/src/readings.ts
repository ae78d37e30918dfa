import { isObject, type JsonObject } from '@corral/contracts';
import type { ActionReading, RrsetPage, ZoneReading } from './client.js';
import { type JsonBody, sliceElements, sliceMember } from './exchange.js';

/**
 * Parsers of what the upstream answers to reads. They check what our callers rely upon and nothing else, so that
 * fields of tomorrow pass; undefined means that the body is not what was asked for.
 */

export function parseZone(body: JsonBody, idOrName: string | number): (ZoneReading & { kind: 'found' }) | undefined {
  const { zone } = body.value;
  if (!isObject(zone)) return undefined;
  const { id, name, mode } = zone;
  if (!isId(id) || typeof name !== 'string' || typeof mode !== 'string') return undefined;
  if (String(idOrName) !== String(id) && idOrName !== name) return undefined;
  return { kind: 'found', id, name, mode, body: textOf(body, 'zone') };
}

/** Reads an rrset, and makes sure that the answer is about the one in question. */
export function parseRrset(body: JsonBody, name: string, type: string): { kind: 'found'; body: string } | undefined {
  const { rrset } = body.value;
  if (!isObject(rrset) || rrset.name !== name || rrset.type !== type) return undefined;
  return { kind: 'found', body: textOf(body, 'rrset') };
}

/**
 * Demands the pagination: without it a first page would look like the whole zone, and a comparison would take the
 * rest for deleted.
 */
export function parseRrsetPage(body: JsonBody, page: number): RrsetPage | undefined {
  const items = objectsIn(body, 'rrsets');
  const nextPage = nextPageIn(body.value, page);
  if (items === undefined || nextPage === undefined) return undefined;
  const rrsets: RrsetPage['rrsets'] = [];
  for (const { value, text } of items) {
    const { name, type } = value;
    if (typeof name !== 'string' || typeof type !== 'string') return undefined;
    rrsets.push({ name, type, body: text });
  }
  const total = paginationIn(body.value)?.total_entries;
  return { rrsets, nextPage, totalEntries: Number.isSafeInteger(total) ? (total as number) : null };
}

/** Drops actions that were not asked for. */
export function parseActions(body: JsonBody, ids: readonly number[]): ActionReading[] | undefined {
  const items = objectsIn(body, 'actions');
  if (items === undefined) return undefined;
  const actions: ActionReading[] = [];
  for (const { value, text } of items) {
    const { id, status } = value;
    if (!isId(id) || !isActionStatus(status)) return undefined;
    if (ids.includes(id)) actions.push({ id, status, body: text });
  }
  return actions;
}

export function isId(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function isActionStatus(value: unknown): value is ActionReading['status'] {
  return value === 'running' || value === 'success' || value === 'error';
}

function objectsIn(body: JsonBody, key: string): { value: JsonObject; text: string }[] | undefined {
  const values = body.value[key];
  if (!Array.isArray(values)) return undefined;
  const texts = sliceElements(body.text, key);
  const items = values.flatMap((value: unknown, index) =>
    isObject(value) ? [{ value, text: texts[index] ?? '' }] : [],
  );
  return items.length === values.length ? items : undefined;
}

function paginationIn(value: JsonObject): JsonObject | undefined {
  const meta = value.meta;
  const pagination = isObject(meta) ? meta.pagination : undefined;
  return isObject(pagination) ? pagination : undefined;
}

/** Null and 0 end the list (edge of the official clients); a page that does not advance would never end it. */
function nextPageIn(value: JsonObject, page: number): number | null | undefined {
  const next = paginationIn(value)?.next_page;
  if (next === null || next === 0) return null;
  return isId(next) && next > page ? next : undefined;
}

function textOf(body: JsonBody, key: string): string {
  return sliceMember(body.text, key) ?? '';
}
