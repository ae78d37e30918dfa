import { countRequests, dnsTokenStore, startDnsSession, startDnsSessionOfAccount } from '@corral/auth';
import {
  type ClusterOperationId,
  type DnsSessionBody,
  type DnsTokenState,
  type DnsUsageBody,
  dnsLimits,
  parseDnsTokenPost,
  type RecordSetChangesBody,
} from '@corral/contracts';
import { readClock } from '@corral/database';
import { readUsage } from '@corral/dns-data';
import { queryOf } from '@corral/http-api';
import type { RequestHandler, Response } from 'express';
import { callerOf, personCallerOf, signedInOf } from '../http/caller.js';
import { bodyOf, idempotencyKeyOf, parsePaging } from '../http/request.js';
import { cursorAt, pageOf, positionOf, requiredId } from '../paging.js';
import { found, notFound, Problem } from '../problem.js';
import type { Services } from '../services.js';
import { listDanglingSets } from './pointing.js';
import { findToken, listRecordSetChanges, listTokens } from './store.js';
import { createToken, revokeToken } from './tokens.js';
import { upstreamUsage } from './usage.js';
import { dnsTokenBody, recordSetChangeBody } from './view.js';

/** Time limit in ms. Short because the rest of the response waits for it. */
const BUDGET_MS_MAX = 1_000;

/** The handlers of DNS tokens, of tokens for a session, and of DNS usage. */
export function dnsRoutes(services: Services) {
  const { config, prisma, changeTeam, readBudgets, log } = services;
  const { dnsApi } = config;
  const startSessionOfPerson = (res: Response) => {
    const { team, userId } = personCallerOf(res);
    return startDnsSession(prisma, { sessionId: signedInOf(res).id, userId, teamId: team.id });
  };
  const issued = dnsTokenStore(prisma);
  return {
    async listDnsTokens(req, res) {
      const { limit, after } = parsePaging(req, 2);
      const rows = await listTokens(prisma, personCallerOf(res), {
        limit: limit + 1,
        after: after && positionOf(after),
        state: queryOf(req).get('state') as DnsTokenState | null,
      });
      const { items, next } = pageOf(rows, limit, cursorAt);
      const now = await readClock(prisma);
      res.json({ items: items.map((token) => dnsTokenBody(token, now)), next });
    },

    async getDnsToken(req, res) {
      const token = found(await findToken(prisma, personCallerOf(res), requiredId(req.params.id)));
      res.json(dnsTokenBody(token, await readClock(prisma)));
    },

    async createDnsToken(req, res) {
      const caller = personCallerOf(res);
      const wish = parseDnsTokenPost(bodyOf(req));
      const { record, token } = await createToken(changeTeam, caller, wish, idempotencyKeyOf(req));
      res.status(201).location(`/api/v1/teams/${caller.team.slug}/dns-tokens/${record.id}/`);
      res.json({ ...dnsTokenBody(record, await readClock(prisma)), token });
    },

    async revokeDnsToken(req, res) {
      await revokeToken(changeTeam, personCallerOf(res), requiredId(req.params.id));
      res.status(204).end();
    },

    async startDnsSession(_req, res) {
      if (dnsApi === null) throw notFound();
      const { account } = callerOf(res);
      const session =
        account === null ? await startSessionOfPerson(res) : await startDnsSessionOfAccount(prisma, account);
      if (session === null) {
        const detail = 'The session or the token has ended. Sign in, or use another token, and try again.';
        throw new Problem('authentication_required', detail);
      }
      const { token, expiresAt } = session;
      res.status(201).json({ ...dnsApi, token, expiresAt: expiresAt.toISOString() } satisfies DnsSessionBody);
    },

    async listDanglingRecordSets(_req, res) {
      res.json(await listDanglingSets(services, callerOf(res)));
    },

    async getDnsUsage(_req, res) {
      const { team } = callerOf(res);
      const [use, active, lastHour, upstream] = await Promise.all([
        readUsage(prisma, team),
        issued.countActive(team),
        countRequests(prisma, team.id),
        upstreamUsage(readBudgets, BUDGET_MS_MAX, (error) => log.warn('upstream budget not read', { error })),
      ]);
      // Null where the installation's limit applies.
      const recordsMax = use.recordsMax ?? config.dnsRecordsPerTeam;
      const requestsMax = use.requestsMax ?? config.dnsRequestsPerTeamPerMinute;
      res.json({
        records: { used: use.records, reserved: use.reservedRecords, limit: recordsMax },
        tokens: { active, limit: dnsLimits.activeTokensPerTeam },
        requests: { lastHour, limitPerMinute: requestsMax },
        upstream,
      } satisfies DnsUsageBody);
    },

    async listRecordSetChanges(_req, res) {
      const sets = await listRecordSetChanges(prisma, callerOf(res).team);
      res.json({ items: sets.map(recordSetChangeBody) } satisfies RecordSetChangesBody);
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}
