import { dnsCallerOf } from '@corral/auth';
import type { MirrorStore } from '@corral/dns-data';
import { queryOf, sendJsonText } from '@corral/http-api';
import type { Request, RequestHandler } from 'express';
import { notFound } from '../dns-error.js';
import type { Zones } from '../zones/zone-directory.js';
import { readableRrset, scopeOf } from './access.js';
import { paginationOf, parseRrsetQuery } from './list-query.js';

export interface RrsetRoutesDeps {
  readonly zones: Zones;
  readonly mirror: MirrorStore;
}

/** Reads of record sets. All come from the mirror, without upstream calls. */
export function rrsetRoutes({ zones, mirror }: RrsetRoutesDeps): Record<'listRrsets' | 'getRrset', RequestHandler> {
  return {
    async listRrsets(req, res) {
      const caller = dnsCallerOf(res);
      const zone = await zones.of(caller).resolve(req.params.zone as string);
      const { page, perPage, ...selection } = parseRrsetQuery(queryOf(req));
      const found = await mirror.pageRrsets({
        scope: scopeOf(caller, zone),
        selection,
        limit: perPage,
        offset: (page - 1) * perPage,
      });
      const pagination = paginationOf({ page, perPage }, found.total);
      sendJsonText(res, 200, `{"rrsets":[${found.bodies}],"meta":${JSON.stringify({ pagination })}}`);
    },

    async getRrset(req, res) {
      const caller = dnsCallerOf(res);
      const zone = await zones.of(caller).resolve(req.params.zone as string);
      const { name, type } = rrsetParams(req);
      const key = readableRrset(caller, zone, name, type);
      const body = await mirror.findRrset(scopeOf(caller, zone), key.name, key.type);
      if (body === null) throw notFound('record set');
      sendJsonText(res, 200, `{"rrset":${body}}`);
    },
  };
}

export function rrsetParams(req: Request): { name: string; type: string } {
  return { name: req.params.name as string, type: req.params.type as string };
}
