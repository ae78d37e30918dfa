import {
  type ClusterOperationId,
  type LeftTokenFate,
  leftTokenFates,
  parseMemberPut,
  parseTeamPut,
} from '@corral/contracts';
import type { Request, RequestHandler } from 'express';
import { type DashboardUrlOf, memberBody, memberRemovalBody, teamBody } from '../domain/team-body.js';
import type { TeamStore } from '../domain/team-transaction.js';
import type { TeamService } from '../domain/teams.js';
import { bodyOf } from '../http/body.js';
import { callerOf, signedInOf } from '../http/caller.js';
import { pageOf } from '../http/cursor.js';
import { parsePaging, queryOf } from '../http/query.js';
import { invalidField, notFound } from '../problem.js';

export interface TeamRoutesDeps {
  readonly teams: TeamService;
  readonly store: Pick<TeamStore, 'find' | 'list' | 'listMembers'>;
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

    async getTeam(_req, res) {
      const { team, role } = callerOf(res);
      res.json(teamBody(await store.find(team), viewOf(role)));
    },

    async putTeam(req, res) {
      const team = await service.rename(callerOf(res), parseTeamPut(bodyOf(req)));
      res.json(teamBody(team, viewOf('admin')));
    },

    async listMembers(req, res) {
      const { limit, after } = parsePaging(req, 1);
      const rows = await store.listMembers(callerOf(res).team, { limit: limit + 1, after: after && numberIn(after) });
      const { items, next } = pageOf(rows, limit, ({ number }) => [String(number)]);
      res.json({ items: items.map(memberBody), next });
    },

    async putMember(req, res) {
      const member = await service.setRole(callerOf(res), memberNumberOf(req), parseMemberPut(bodyOf(req)));
      res.json(memberBody(member));
    },

    async deleteMember(req, res) {
      const fate = (queryOf(req).get('dns_tokens') ?? leftTokenFates[0]) as LeftTokenFate;
      res.json(memberRemovalBody(await service.removeMember(callerOf(res), memberNumberOf(req), fate)));
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

/** The largest that the database counts to. */
const NUMBER_MAX = 2_147_483_647;
const isNumber = (text: string): boolean => /^[1-9]\d{0,9}$/.test(text) && Number(text) <= NUMBER_MAX;

/** What is no number is that of nobody. */
function memberNumberOf(req: Request): number {
  const text = req.params.id as string;
  if (!isNumber(text)) throw notFound();
  return Number(text);
}

function numberIn([text]: readonly string[]): number {
  if (!isNumber(text as string))
    throw invalidField('validation_failed', '/query/cursor', 'must be the `next` of a page');
  return Number(text);
}
