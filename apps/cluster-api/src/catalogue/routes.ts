import type { ClusterOperationId } from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import { queryOf } from '@corral/http-api';
import type { RequestHandler } from 'express';
import { type ClusterQuotas, quotasOf } from '../clusters/spec/quotas.js';
import { callerOf } from '../http/caller.js';
import { invalidField } from '../problem.js';
import { catalogueBody } from './body.js';
import type { Catalogue } from './cached-catalogue.js';
import type { catalogueStore } from './store.js';

interface CatalogueRoutesDeps {
  readonly catalogue: Catalogue;
  readonly store: ReturnType<typeof catalogueStore>;
  readonly quotas: ClusterQuotas;
  readonly adoptedServersPerTeam: number;
  readonly features: ReadonlySet<GardenFeature>;
}

export function catalogueRoutes({ catalogue, store, quotas, ...installation }: CatalogueRoutesDeps) {
  return {
    async getCatalogue(req, res) {
      const ref = queryOf(req).get('connection');
      const { quotaOverrides, used, connection, now } = await store.read(callerOf(res).team.id, ref);
      if (ref !== null && connection === null) {
        throw invalidField('validation_failed', '/query/connection', 'must be the ref of a connection of the team');
      }
      const { profile, problem } = await catalogue.get();
      if (problem !== null) throw problem;
      res.json(
        catalogueBody(profile, {
          ...installation,
          quotas: quotasOf(quotaOverrides, quotas),
          used,
          prices: connection?.prices ?? null,
          now,
        }),
      );
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}
