import { dnsCallerOf } from '@corral/auth';
import type { RequestHandler } from 'express';
import { fitsLabels } from '../domain/label-selector.js';
import { paginationOf, parsePage, parseSelection } from '../domain/list-query.js';
import type { Zones } from '../domain/zone-directory.js';
import { queryOf } from '../http/query.js';
import { sendJsonText } from '../http/send.js';

export interface ZoneRoutesDeps {
  readonly zones: Zones;
}

export function zoneRoutes({ zones }: ZoneRoutesDeps): Record<'listZones' | 'getZone', RequestHandler> {
  return {
    async listZones(req, res) {
      const query = queryOf(req);
      const page = parsePage(query);
      const { labels } = parseSelection(query);
      const zone = await zones.of(dnsCallerOf(res)).read();
      const stated = JSON.parse(zone.body) as { mode: string; labels: Record<string, string> };
      const asked =
        (query.get('name') ?? zone.name) === zone.name &&
        (query.get('mode') ?? stated.mode) === stated.mode &&
        (labels === null || fitsLabels(labels, stated.labels));
      const meta = { pagination: paginationOf(page, asked ? 1 : 0) };
      const listed = asked && page.page === 1 ? zone.body : '';
      sendJsonText(res, 200, `{"zones":[${listed}],"meta":${JSON.stringify(meta)}}`);
    },

    async getZone(req, res) {
      const zone = zones.of(dnsCallerOf(res));
      await zone.resolve(req.params.zone as string);
      const { body } = await zone.read();
      sendJsonText(res, 200, `{"zone":${body}}`);
    },
  };
}
