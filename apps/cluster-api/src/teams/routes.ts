import {
  type ClusterOperationId,
  type DnsTokenHandling,
  dnsTokenHandlings,
  parseMemberPut,
  parseTeamPut,
} from '@corral/contracts';
import { queryOf } from '@corral/http-api';
import type { Request, RequestHandler } from 'express';
import { quoted } from '../changes/entity-tag.js';
import { bodyOf } from '../http/body.js';
import { personCallerOf, signedInOf } from '../http/caller.js';
import { preconditionsOf, sendTagged } from '../http/headers.js';
import { parsePaging } from '../http/query.js';
import { pageOf } from '../paging.js';
import { invalidField, notFound } from '../problem.js';
import { type DashboardUrlOf, memberBody, memberRemovalBody, memberTagOf, teamBody, teamTagOf } from './body.js';
import type { TeamService } from './teams.js';
import type { TeamStore } from './transaction.js';

export interface TeamRoutesDeps {
  readonly teams: TeamService;
  readonly store: Pick<TeamStore, 'find' | 'list' | 'listMembers' | 'findMember'>;
  readonly urlOf: DashboardUrlOf;
}

export function teamRoutes({ teams: service, store, urlOf }: TeamRoutesDeps) {
  const viewOf = (role: string) => ({ isAdmin: role === 'admin', urlOf });
  return {
    async listTeamDetails(req, res) {
      const { limit, after } = parsePaging(req, 1);
      const { memberships } = signedInOf(res);
      const behind = memberships.filter(({ slug }) => after === null || slug > (after[0] as string));
      const { items, next } = pageOf(behind, limit, ({ slug }) => [slug]);
      const teams = new Map((await store.list(items.map(({ teamId }) => teamId))).map((team) => [team.id, team]));
      const found = items.flatMap(({ teamId, role }) => {
        const team = teams.get(teamId);
        return team === undefined ? [] : [teamBody(team, viewOf(role))];
      });
      res.json({ items: found, next });
    },

    async getTeam(req, res) {
      const { team, role } = personCallerOf(res);
      const [found, view] = [await store.find(team), viewOf(role)];
      sendTagged(req, res, teamTagOf(found, view), teamBody(found, view));
    },

    async putTeam(req, res) {
      const team = await service.rename(personCallerOf(res), parseTeamPut(bodyOf(req)), preconditionsOf(req));
      const view = viewOf('admin');
      res.set('ETag', quoted(teamTagOf(team, view))).json(teamBody(team, view));
    },

    async listMembers(req, res) {
      const { limit, after } = parsePaging(req, 1);
      const rows = await store.listMembers(personCallerOf(res).team, {
        limit: limit + 1,
        after: after && numberIn(after),
      });
      const { items, next } = pageOf(rows, limit, ({ number }) => [String(number)]);
      res.json({ items: items.map(memberBody), next });
    },

    async getMember(req, res) {
      const member = await store.findMember(personCallerOf(res).team, memberNumberOf(req));
      if (member === null) throw notFound();
      sendTagged(req, res, memberTagOf(member), memberBody(member));
    },

    async putMember(req, res) {
      const put = parseMemberPut(bodyOf(req));
      const member = await service.setRole(personCallerOf(res), memberNumberOf(req), put, preconditionsOf(req));
      res.set('ETag', quoted(memberTagOf(member))).json(memberBody(member));
    },

    async deleteMember(req, res) {
      const handling = (queryOf(req).get('dns_tokens') ?? dnsTokenHandlings[0]) as DnsTokenHandling;
      const removal = await service.removeMember(
        personCallerOf(res),
        memberNumberOf(req),
        handling,
        preconditionsOf(req),
      );
      res.json(memberRemovalBody(removal));
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

/** The largest value of a Postgres `integer`. */
const NUMBER_MAX = 2_147_483_647;
const isNumber = (text: string): boolean => /^[1-9]\d{0,9}$/.test(text) && Number(text) <= NUMBER_MAX;

/** @throws Problem `not_found` for an invalid number: no member can have it */
function memberNumberOf(req: Request): number {
  const text = req.params.id as string;
  if (!isNumber(text)) throw notFound();
  return Number(text);
}

function numberIn([text]: readonly string[]): number {
  if (!isNumber(text as string))
    throw invalidField('validation_failed', '/query/cursor', 'must be the `next` value of a page');
  return Number(text);
}
