import type { ClusterOperationId } from '@corral/contracts';
import { queryOf } from '@corral/http-api';
import type { RequestHandler } from 'express';
import { quotasOf } from '../clusters/rules/plan-change.js';
import { callerOf } from '../http/caller.js';
import { invalidField } from '../problem.js';
import type { Services } from '../services.js';
import { readTeamBasis } from './store.js';
import { catalogueBody } from './view.js';

/** The handler for the catalogue. */
export function catalogueRoutes({ config, prisma, catalogue }: Services) {
  return {
    async getCatalogue(req, res) {
      const ref = queryOf(req).get('connection');
      const { quotaOverrides, used, connection, now } = await readTeamBasis(prisma, callerOf(res).team.id, ref);
      if (ref !== null && connection === null) {
        throw invalidField('validation_failed', '/query/connection', 'must be the ref of a connection of the team');
      }
      const { profile, problem } = await catalogue.get();
      if (problem !== null) throw problem;
      res.json(
        catalogueBody(profile, {
          features: config.gardenFeatures,
          adoptedServersPerTeam: config.adoptedServersPerTeam,
          quotas: quotasOf(quotaOverrides, config.quotas),
          used,
          prices: connection?.prices ?? null,
          now,
        }),
      );
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}
