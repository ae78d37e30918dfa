import { trackBudget } from './budget.js';
import type { ActionReading, HcloudClient, HcloudOptions } from './client.js';
import { UpstreamUnavailable } from './errors.js';
import { openWire } from './exchange.js';
import type { JsonBody } from './json-body.js';
import { renderPath } from './path.js';
import { performRead } from './read.js';
import { isId, parseActions, parseRrset, parseRrsetPage, parseZone } from './readings.js';
import { type CallDeps, sendWrite } from './write.js';

const rrsetsPerPage = 100;
/** As many as the official client asks for at once. */
const idsPerCall = 25;

/**
 * Wires a client of the upstream DNS API; makes no call.
 *
 * @throws Error when the base address or the token cannot be used
 */
export function connectHcloud(options: HcloudOptions): HcloudClient {
  const { baseUrl, token, timeoutMs = 10_000, waitMsMax = 8_000, log, now = Date.now } = options;
  const wire = openWire({ baseUrl, token, timeoutMs });
  const budget = trackBudget({ now });
  const deps: CallDeps = { wire, budget, waitMsMax, log, onCall: options.onCall ?? (() => {}) };

  return {
    write: (request, signal) => sendWrite(deps, request, signal),
    async readZone(idOrName) {
      const path = renderPath(['zones', typeof idOrName === 'number' ? idSegment(idOrName) : idOrName]);
      const parse = (body: JsonBody) => parseZone(body, idOrName);
      return (await performRead(deps, { route: 'GET /zones/{zone}', path, parse })) ?? { kind: 'absent' };
    },
    async readRrset(zoneId, name, type) {
      const path = renderPath(['zones', idSegment(zoneId), 'rrsets', name, type]);
      const parse = (body: JsonBody) => parseRrset(body, name, type);
      const route = 'GET /zones/{zone}/rrsets/{name}/{type}';
      return (await performRead(deps, { route, path, parse })) ?? { kind: 'absent' };
    },
    async listRrsets(zoneId, page) {
      const query = `?page=${idSegment(page)}&per_page=${rrsetsPerPage}`;
      const path = `${renderPath(['zones', idSegment(zoneId), 'rrsets'])}${query}`;
      const parse = (body: JsonBody) => parseRrsetPage(body, page);
      const found = await performRead(deps, { route: 'GET /zones/{zone}/rrsets', path, parse });
      if (found === null) throw new UpstreamUnavailable('404 not_found: the zone is not in the upstream project');
      return found;
    },
    async readActions(ids) {
      const asked = [...new Set(ids)];
      const actions: ActionReading[] = [];
      for (let first = 0; first < asked.length; first += idsPerCall) {
        const chunk = asked.slice(first, first + idsPerCall);
        const path = `/actions?${chunk.map((id) => `id=${idSegment(id)}`).join('&')}`;
        const parse = (body: JsonBody) => parseActions(body, chunk);
        const found = await performRead(deps, { route: 'GET /actions', path, parse });
        if (found === null) throw new UpstreamUnavailable('404 not_found: its base address knows no actions');
        actions.push(...found);
      }
      return actions;
    },
    budget: () => budget.read(),
    close: () => wire.close(),
  };
}

/** @throws TypeError for what is no id, so that no `NaN` gets into a path */
function idSegment(value: number): string {
  if (!isId(value)) throw new TypeError(`Ids and pages are whole numbers from 1 on, not ${value}.`);
  return String(value);
}
