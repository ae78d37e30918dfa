import { dnsCallerOf, findDnsCaller } from '@corral/auth';
import { dnsBodyLimits, type dnsDemoRoutes, parseCreateDemo, parseExtendDemo } from '@corral/contracts';
import { addressOf } from '@corral/rate-limit';
import type { Demos } from '../domain/demos.js';
import { pageOf, paginationOf, parsePage } from '../domain/list-query.js';
import { jsonObjectBody } from '../http/json-body.js';
import type { HandlersOf } from '../http/mount-routes.js';
import { queryOf } from '../http/query.js';
import { sendJsonText } from '../http/send.js';

/** Demos are few and no client of the upstream knows them: their answers are made here, from our own rows. */
export function demoRoutes({ demos }: { readonly demos: Demos }): HandlersOf<(typeof dnsDemoRoutes)[number]> {
  return {
    async createDemo(req, res) {
      const body = parseCreateDemo(jsonObjectBody(req, dnsBodyLimits.demos).value);
      const from = { address: addressOf(req), requestId: res.locals.requestId };
      sendJsonText(res, 201, JSON.stringify(await demos.create(findDnsCaller(res), body, from)));
    },

    async listDemos(req, res) {
      const page = parsePage(queryOf(req));
      const all = await demos.list(dnsCallerOf(res));
      const meta = { pagination: paginationOf(page, all.length) };
      sendJsonText(res, 200, JSON.stringify({ demos: pageOf(all, page), meta }));
    },

    async getDemo(req, res) {
      sendJsonText(res, 200, JSON.stringify({ demo: await demos.get(dnsCallerOf(res), req.params.label as string) }));
    },

    async extendDemo(req, res) {
      const { ttl } = parseExtendDemo(jsonObjectBody(req, dnsBodyLimits.demos).value);
      const demo = await demos.extend(dnsCallerOf(res), req.params.label as string, ttl, res.locals.requestId);
      sendJsonText(res, 200, JSON.stringify({ demo }));
    },

    async deleteDemo(req, res) {
      await demos.end(dnsCallerOf(res), req.params.label as string, res.locals.requestId);
      res.status(204).end();
    },
  };
}
