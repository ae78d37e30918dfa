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
import { personCallerOf, signedInOf } from '../http/caller.js';
import { bodyOf, parsePaging, preconditionsOf, purposeOf, sendTagged } from '../http/request.js';
import { pageOf } from '../paging.js';
import { found, invalidField, notFound } from '../problem.js';
import type { Services } from '../services.js';
import { planRole, removeMember, setRole } from './members.js';
import { renameTeam } from './rename.js';
import { findMember, listMembers, readTeam, readTeams } from './store.js';
import { dashboardUrlOf, memberBody, memberRemovalBody, memberTagOf, teamBody, teamTagOf } from './view.js';

/** The handlers of teams and their members. */
export function teamRoutes({ config, prisma, changeTeam }: Services) {
  const urlOf = dashboardUrlOf(config);
  const viewOf = (role: string) => ({ isAdmin: role === 'admin', urlOf });
  return {
    async listTeamDetails(req, res) {
      const { limit, after } = parsePaging(req, 1);
      const { memberships } = signedInOf(res);
      const behind = memberships.filter(({ slug }) => after === null || slug > (after[0] as string));
      const { items, next } = pageOf(behind, limit, ({ slug }) => [slug]);
      const rows = await readTeams(
        prisma,
        items.map(({ teamId }) => teamId),
      );
      const teams = new Map(rows.map((team) => [team.id, team]));
      const shown = items.flatMap(({ teamId, role }) => {
        const team = teams.get(teamId);
        return team === undefined ? [] : [teamBody(team, viewOf(role))];
      });
      res.json({ items: shown, next });
    },

    async getTeam(req, res) {
      const { team, role } = personCallerOf(res);
      const [record, view] = [await readTeam(prisma, team.id), viewOf(role)];
      sendTagged(req, res, teamTagOf(record, view), teamBody(record, view));
    },

    async putTeam(req, res) {
      const put = parseTeamPut(bodyOf(req));
      const team = await renameTeam(changeTeam, personCallerOf(res), put, preconditionsOf(req), urlOf);
      const view = viewOf('admin');
      res.set('ETag', quoted(teamTagOf(team, view))).json(teamBody(team, view));
    },

    async listMembers(req, res) {
      const { limit, after } = parsePaging(req, 1);
      const page = { limit: limit + 1, after: after && numberIn(after) };
      const rows = await listMembers(prisma, personCallerOf(res).team.id, page);
      const { items, next } = pageOf(rows, limit, ({ number }) => [String(number)]);
      res.json({ items: items.map(memberBody), next });
    },

    async getMember(req, res) {
      const member = found(await findMember(prisma, personCallerOf(res).team.id, memberNumberOf(req.params.id)));
      sendTagged(req, res, memberTagOf(member), memberBody(member));
    },

    async putMember(req, res) {
      const change = {
        memberNumber: memberNumberOf(req.params.id),
        put: parseMemberPut(bodyOf(req)),
        dnsTokens: handlingIn(req),
        preconditions: preconditionsOf(req),
      };
      const caller = personCallerOf(res);
      if (purposeOf(req) === 'dryRun') {
        const { member, left } = await planRole(prisma, caller, change);
        res.json({ dryRun: true, resource: memberBody(member), ...memberRemovalBody(left) });
        return;
      }
      const member = await setRole(changeTeam, caller, change);
      res.set('ETag', quoted(memberTagOf(member))).json(memberBody(member));
    },

    async deleteMember(req, res) {
      const number = memberNumberOf(req.params.id);
      const removal = await removeMember(
        changeTeam,
        personCallerOf(res),
        number,
        handlingIn(req),
        preconditionsOf(req),
      );
      res.json(memberRemovalBody(removal));
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

const handlingIn = (req: Request) => (queryOf(req).get('dns_tokens') ?? dnsTokenHandlings[0]) as DnsTokenHandling;

/** The largest value of a Postgres `integer`. */
const NUMBER_MAX = 2_147_483_647;
const isNumber = (text: string): boolean => /^[1-9]\d{0,9}$/.test(text) && Number(text) <= NUMBER_MAX;

/** @throws Problem `not_found` for an invalid number: no member can have it */
function memberNumberOf(text: unknown): number {
  if (!isNumber(String(text))) throw notFound();
  return Number(text);
}

function numberIn([text]: readonly string[]): number {
  if (!isNumber(text as string))
    throw invalidField('validation_failed', '/query/cursor', 'must be the `next` value of a page');
  return Number(text);
}
