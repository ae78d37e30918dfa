import { type DnsCaller, dnsCallerOf } from '@corral/auth';
import { type MirrorStore, withMember, type ZoneRecord } from '@corral/dns-mirror';
import type { RequestHandler } from 'express';
import { fitsLabels } from '../domain/label-selector.js';
import { paginationOf, parsePage, parseSelection } from '../domain/list-query.js';
import { scopeOf } from '../domain/rrset-access.js';
import type { Zones } from '../domain/zone-directory.js';
import { queryOf } from '../http/query.js';
import { sendJsonText } from '../http/send.js';

export interface ZoneRoutesDeps {
  readonly zones: Zones;
  readonly mirror: Pick<MirrorStore, 'countRecords'>;
}

export function zoneRoutes({ zones, mirror }: ZoneRoutesDeps): Record<'listZones' | 'getZone', RequestHandler> {
  /** How many records others have is nothing that a team is told. */
  const bodyFor = async (caller: DnsCaller, zone: ZoneRecord): Promise<string> =>
    withMember(zone.body, 'record_count', await mirror.countRecords(scopeOf(caller, zone)));

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
