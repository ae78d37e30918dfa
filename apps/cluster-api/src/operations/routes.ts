import type { OperationRecord } from '@corral/cluster-data';
import { type ClusterOperationId, coversCluster, type OperationKind, type OperationState } from '@corral/contracts';
import { queryOf } from '@corral/http-api';
import type { RequestHandler } from 'express';
import { type Caller, clustersOf } from '../changes/caller.js';
import { callerOf } from '../http/caller.js';
import { parsePaging } from '../http/query.js';
import { cursorAt, isId, pageOf, positionOf } from '../paging.js';
import { notFound } from '../problem.js';
import { operationBody } from './body.js';
import type { OperationStore } from './store.js';

/** Whether the narrowing of the caller, if any, covers the target of the operation. */
function isVisible({ target }: OperationRecord, caller: Caller): boolean {
  const clusters = clustersOf(caller);
  return clusters === null || (target.kind === 'Cluster' && coversCluster({ clusters }, target.name));
}

export interface OperationRoutesDeps {
  readonly store: OperationStore;
  /** Base URL of this service, without a trailing slash. */
  readonly publicUrl: () => string;
}

export function operationRoutes({ store, publicUrl }: OperationRoutesDeps) {
  return {
    async listOperations(req, res) {
      const caller = callerOf(res);
      const { team } = caller;
      const { limit, after } = parsePaging(req, 2);
      const query = queryOf(req);
      const rows = await store.list(team.id, {
        limit: limit + 1,
        after: after && positionOf(after),
        target: query.get('target'),
        states: query.getAll('state') as OperationState[],
        kinds: query.getAll('kind') as OperationKind[],
        clusters: clustersOf(caller),
      });
      const { items, next } = pageOf(rows, limit, cursorAt);
      const context = { team, publicUrl: publicUrl() };
      res.json({ items: items.map((operation) => operationBody(operation, context)), next });
    },

    async getOperation(req, res) {
      const caller = callerOf(res);
      const { team } = caller;
      const id = req.params.id as string;
      const operation = isId(id) ? await store.find(team.id, id) : null;
      if (operation === null || !isVisible(operation, caller)) throw notFound();
      res.json(operationBody(operation, { team, publicUrl: publicUrl() }));
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}
