import { type DnsCaller, dnsCallerOf } from '@corral/auth';
import { withMember, type ZoneRecord } from '@corral/dns-data';
import { queryOf, sendJsonText } from '@corral/http-api';
import type { RequestHandler } from 'express';
import { fitsLabels, paginationOf, parsePage, parseSelection } from '../http/request.js';
import type { Services } from '../services.js';
import { visibleTo } from './zone-directory.js';

export function zoneRoutes({ zones, mirror }: Services): Record<'listZones' | 'getZone', RequestHandler> {
  /** Shows only the caller's own record count. */
  const bodyFor = async (caller: DnsCaller, zone: ZoneRecord): Promise<string> =>
    withMember(zone.body, 'record_count', await mirror.countRecords(visibleTo(caller, zone)));

  return {
    async listZones(req, res) {
      const query = queryOf(req);
      const page = parsePage(query);
      const { labels } = parseSelection(query);
      const caller = dnsCallerOf(res);
      const zone = await zones.of(caller).read();
      const stated = JSON.parse(zone.body) as { mode: string; labels: Record<string, string> };
      const asked =
        (query.get('name') ?? zone.name) === zone.name &&
        (query.get('mode') ?? stated.mode) === stated.mode &&
        (labels === null || fitsLabels(labels, stated.labels));
      const meta = { pagination: paginationOf(page, asked ? 1 : 0) };
      const listed = asked && page.page === 1 ? await bodyFor(caller, zone) : '';
      sendJsonText(res, 200, `{"zones":[${listed}],"meta":${JSON.stringify(meta)}}`);
    },

    async getZone(req, res) {
      const caller = dnsCallerOf(res);
      const zone = zones.of(caller);
      await zone.resolve(req.params.zone as string);
      sendJsonText(res, 200, `{"zone":${await bodyFor(caller, await zone.read())}}`);
    },
  };
}
