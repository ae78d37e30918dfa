import { addressOf } from '@corral/admission';
import { dnsCallerOf, findDnsCaller } from '@corral/auth';
import { dnsBodyLimits, type dnsDemoRoutes, parseCreateDemo, parseExtendDemo } from '@corral/contracts';
import type { HandlersOf } from '@corral/http-api';
import { queryOf, sendJsonText } from '@corral/http-api';
import { jsonObjectBody, pageOf, paginationOf, parsePage } from '../http/request.js';
import type { DemoServices, Services } from '../services.js';
import { createDemo, endDemo, extendDemo, getDemo, listDemos } from './demos.js';

/** The upstream has no demos, so their responses are built from our own rows. */
export function demoRoutes(services: Services, demos: DemoServices): HandlersOf<(typeof dnsDemoRoutes)[number]> {
  return {
    async createDemo(req, res) {
      const body = parseCreateDemo(jsonObjectBody(req, dnsBodyLimits.demos).value);
      const from = { address: addressOf(req), requestId: res.locals.requestId };
      sendJsonText(res, 201, JSON.stringify(await createDemo(demos, findDnsCaller(res), body, from)));
    },

    async listDemos(req, res) {
      const page = parsePage(queryOf(req));
      const all = await listDemos(demos, dnsCallerOf(res));
      const meta = { pagination: paginationOf(page, all.length) };
      sendJsonText(res, 200, JSON.stringify({ demos: pageOf(all, page), meta }));
    },

    async getDemo(req, res) {
      sendJsonText(
        res,
        200,
        JSON.stringify({ demo: await getDemo(demos, dnsCallerOf(res), req.params.label as string) }),
      );
    },

    async extendDemo(req, res) {
      const { ttl } = parseExtendDemo(jsonObjectBody(req, dnsBodyLimits.demos).value);
      const { requestId } = res.locals;
      const wanted = { label: req.params.label as string, ttlSeconds: ttl, requestId };
      const demo = await extendDemo(demos, dnsCallerOf(res), wanted);
      sendJsonText(res, 200, JSON.stringify({ demo }));
    },

    async deleteDemo(req, res) {
      await endDemo(services, demos, dnsCallerOf(res), req.params.label as string, res.locals.requestId);
      res.status(204).end();
    },
  };
}
