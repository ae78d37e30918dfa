import { createHash } from 'node:crypto';
import { openBudget } from '@corral/admission';
import { type CallDeps, performRead, writer } from './calls.js';
import {
  type ActionReading,
  type HcloudClient,
  type HcloudOptions,
  type ReadOptions,
  UpstreamUnavailable,
} from './client.js';
import type { JsonBody } from './exchange.js';
import { openWire, renderPath } from './exchange.js';
import { isId, parseActions, parseRrset, parseRrsetPage, parseZone } from './readings.js';

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
    onAway: (error) => log.warn('upstream budget not shared for now', { error }),
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
