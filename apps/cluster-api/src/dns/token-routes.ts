import { type ClusterOperationId, type DnsTokenState, parseDnsTokenPost } from '@corral/contracts';
import { queryOf } from '@corral/http-api';
import type { Request, RequestHandler } from 'express';
import { bodyOf } from '../http/body.js';
import { personCallerOf } from '../http/caller.js';
import { idempotencyKeyOf } from '../http/headers.js';
import { parsePaging } from '../http/query.js';
import { cursorAt, pageOf, parseId, positionOf } from '../paging.js';
import { notFound } from '../problem.js';
import type { DnsTokenService, DnsTokenStore } from './tokens.js';
import { dnsTokenBody } from './tokens.js';

export interface DnsTokenRoutesDeps {
  readonly tokens: DnsTokenService;
  readonly store: Pick<DnsTokenStore, 'list' | 'find' | 'clock'>;
}

export function dnsTokenRoutes({ tokens, store }: DnsTokenRoutesDeps) {
  return {
    async listDnsTokens(req, res) {
      const { limit, after } = parsePaging(req, 2);
      const rows = await store.list(personCallerOf(res), {
        limit: limit + 1,
        after: after && positionOf(after),
        state: queryOf(req).get('state') as DnsTokenState | null,
      });
      const { items, next } = pageOf(rows, limit, cursorAt);
      const now = await store.clock();
      res.json({ items: items.map((token) => dnsTokenBody(token, now)), next });
    },

    async getDnsToken(req, res) {
      const token = await store.find(personCallerOf(res), tokenIdOf(req));
      if (token === null) throw notFound();
      res.json(dnsTokenBody(token, await store.clock()));
    },

    async createDnsToken(req, res) {
      const caller = personCallerOf(res);
      const wish = parseDnsTokenPost(bodyOf(req));
      const { record, token } = await tokens.create(caller, wish, idempotencyKeyOf(req));
      res.status(201).location(`/api/v1/teams/${caller.team.slug}/dns-tokens/${record.id}/`);
      res.json({ ...dnsTokenBody(record, await store.clock()), token });
    },

    async revokeDnsToken(req, res) {
      await tokens.revoke(personCallerOf(res), tokenIdOf(req));
      res.status(204).end();
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

/** @throws Problem `not_found` for an invalid id: no token can have it */
function tokenIdOf(req: Request): string {
  const id = parseId(req.params.id as string);
  if (id === null) throw notFound();
  return id;
}
