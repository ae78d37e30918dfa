import { dnsCallerOf } from '@corral/auth';
import type { MirrorStore, RrsetPage } from '@corral/dns-data';
import { queryOf, sendJsonText } from '@corral/http-api';
import type { Request, RequestHandler } from 'express';
import { notFound } from '../dns-error.js';
import type { Zones } from '../zones/zone-directory.js';
import { readableRrset, scopeOf } from './access.js';
import { type Page, paginationOf, parseRrsetQuery } from './list-query.js';

export interface RrsetRoutesDeps {
  readonly zones: Zones;
  readonly mirror: MirrorStore;
}

/** Reads of record sets. All come from the mirror, without upstream calls. */
export function rrsetRoutes({ zones, mirror }: RrsetRoutesDeps): Record<'listRrsets' | 'getRrset', RequestHandler> {
  const listBodies = new WeakMap<RrsetPage, string>();
  return {
    async listRrsets(req, res) {
      const caller = dnsCallerOf(res);
      const zone = await zones.of(caller).resolve(req.params.zone as string);
      const { page, perPage, ...selection } = parseRrsetQuery(queryOf(req));
      const found = await mirror.pageRrsets({
        scope: scopeOf(caller, zone),
        teamId: caller.kind === 'team' ? caller.teamId : null,
        selection,
        limit: perPage,
        offset: (page - 1) * perPage,
      });
      let body = listBodies.get(found);
      if (body === undefined) {
        body = listBody(found, { page, perPage });
        listBodies.set(found, body);
      }
      sendJsonText(res, 200, body);
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

function listBody({ bodies, total }: RrsetPage, page: Page): string {
  return `{"rrsets":[${bodies}],"meta":{"pagination":${JSON.stringify(paginationOf(page, total))}}}`;
}
