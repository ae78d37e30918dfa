import { createHash } from 'node:crypto';
import { openBudget } from '@corral/admission';
import { isObject, type JsonObject } from '@corral/contracts';
import { type CallDeps, performRead, writer } from './calls.js';
import {
  type ActionReading,
  type HcloudClient,
  type HcloudOptions,
  type ReadOptions,
  type RrsetPage,
  UpstreamUnavailable,
  type ZoneReading,
} from './client.js';
import { isId, type JsonBody, openWire, renderPath, sliceElements, sliceMember } from './exchange.js';

const rrsetsPerPage = 100;
/** A full page of the upstream's lists. */
const idsPerCall = 50;
/** Clients that wait for an action ask again soon, so a late poll is of no use. */
const pollWaitMsMax = 2_000;

/**
 * Wires a client of the upstream DNS API; makes no call.
 *
 * @throws Error when the base address or the token cannot be used
 */
export function connectHcloud(options: HcloudOptions): HcloudClient {
  const {
    baseUrl,
    token,
    timeoutMs = 10_000,
    waitMsMax = 8_000,
    syncWaitMsMax = 600_000,
    log,
    now = Date.now,
  } = options;
  const wire = openWire({ baseUrl, token, timeoutMs });
  const budget = openBudget({
    project: projectOf(baseUrl, token),
    store: options.budgetStore,
    onAway: (error) => log.warn('upstream budget out of reach: nothing is sent upstream', { error }),
    onTurn: options.onTurn,
    now,
  });
  const deps: CallDeps = {
    wire,
    budget,
    waitMsMax,
    log,
    now,
    onCall: options.onCall ?? (() => {}),
    onWrite: options.onWrite ?? (() => {}),
  };
  const turnOf = ({ purpose = 'settle', signal }: ReadOptions = {}) => {
    return { class: purpose, signal, turnMsMax: purpose === 'sync' ? syncWaitMsMax : waitMsMax };
  };
  const pollTurn = { class: 'poll', turnMsMax: Math.min(waitMsMax, pollWaitMsMax) } as const;

  return {
    write: writer(deps),
    async readZone(idOrName, readOptions) {
      const path = renderPath(['zones', typeof idOrName === 'number' ? idSegment(idOrName) : idOrName]);
      const parse = (body: JsonBody) => parseZone(body, idOrName);
      return (
        (await performRead(deps, { ...turnOf(readOptions), route: 'GET /zones/{zone}', path, parse })) ?? {
          kind: 'absent',
        }
      );
    },
    async readRrset(zoneId, name, type, readOptions) {
      const path = renderPath(['zones', idSegment(zoneId), 'rrsets', name, type]);
      const parse = (body: JsonBody) => parseRrset(body, name, type);
      const route = 'GET /zones/{zone}/rrsets/{name}/{type}';
      return (await performRead(deps, { ...turnOf(readOptions), route, path, parse })) ?? { kind: 'absent' };
    },
    async listRrsets(zoneId, page, readOptions) {
      const query = `?page=${idSegment(page)}&per_page=${rrsetsPerPage}`;
      const path = `${renderPath(['zones', idSegment(zoneId), 'rrsets'])}${query}`;
      const parse = (body: JsonBody) => parseRrsetPage(body, page);
      const found = await performRead(deps, { ...turnOf(readOptions), route: 'GET /zones/{zone}/rrsets', path, parse });
      if (found === null) throw new UpstreamUnavailable('404 not_found: the zone is not in the upstream project');
      return found;
    },
    async readActions(ids) {
      const asked = [...new Set(ids)];
      const actions: ActionReading[] = [];
      for (let first = 0; first < asked.length; first += idsPerCall) {
        const chunk = asked.slice(first, first + idsPerCall);
        const path = `/actions?${chunk.map((id) => `id=${idSegment(id)}`).join('&')}&per_page=${idsPerCall}`;
        const parse = (body: JsonBody) => parseActions(body, chunk);
        const found = await performRead(deps, { ...pollTurn, route: 'GET /actions', path, parse });
        if (found === null) throw new UpstreamUnavailable('404 not_found: its base address knows no actions');
        actions.push(...found);
      }
      return actions;
    },
    budget: budget.read,
    async close() {
      await budget.close();
      wire.close();
    },
  };
}

/** @throws TypeError for what is no id, so that no `NaN` gets into a path */
function idSegment(value: number): string {
  if (!isId(value)) throw new TypeError(`Ids and pages are whole numbers from 1 on, not ${value}.`);
  return String(value);
}

/** Names the upstream project in the store: the same token, the same project. The token cannot be derived from it. */
function projectOf(baseUrl: string, token: string): string {
  return createHash('sha256')
    .update(`${baseUrl.replace(/\/+$/, '')} ${token}`)
    .digest('hex')
    .slice(0, 32);
}

/*
 * Parsers of what the upstream answers to reads. They check what our callers rely upon and nothing else, so that
 * fields of tomorrow pass; undefined means that the body is not what was asked for.
 */

function parseZone(body: JsonBody, idOrName: string | number): (ZoneReading & { kind: 'found' }) | undefined {
  const { zone } = body.value;
  if (!isObject(zone)) return undefined;
  const { id, name, mode } = zone;
  if (!isId(id) || typeof name !== 'string' || typeof mode !== 'string') return undefined;
  if (String(idOrName) !== String(id) && idOrName !== name) return undefined;
  return { kind: 'found', id, name, mode, body: textOf(body, 'zone') };
}

/** Reads an rrset, and makes sure that the answer is about the one in question. */
function parseRrset(body: JsonBody, name: string, type: string): { kind: 'found'; body: string } | undefined {
  const { rrset } = body.value;
  if (!isObject(rrset) || rrset.name !== name || rrset.type !== type) return undefined;
  return { kind: 'found', body: textOf(body, 'rrset') };
}

/**
 * Demands the pagination: without it a first page would look like the whole zone, and a comparison would take the
 * rest for deleted.
 */
function parseRrsetPage(body: JsonBody, page: number): RrsetPage | undefined {
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
function parseActions(body: JsonBody, ids: readonly number[]): ActionReading[] | undefined {
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
