import type { ClusterOperationId, OperationKind, OperationState } from '@corral/contracts';
import { queryOf } from '@corral/http-api';
import type { RequestHandler } from 'express';
import { callerOf } from '../http/caller.js';
import { parsePaging } from '../http/query.js';
import { cursorAt, isId, pageOf, positionOf } from '../paging.js';
import { notFound } from '../problem.js';
import { operationBody } from './body.js';
import type { OperationStore } from './store.js';

export interface OperationRoutesDeps {
  readonly store: OperationStore;
  /** Base URL of this service, without a trailing slash. */
  readonly publicUrl: () => string;
}

export function operationRoutes({ store, publicUrl }: OperationRoutesDeps) {
  return {
    async listOperations(req, res) {
      const { team } = callerOf(res);
      const { limit, after } = parsePaging(req, 2);
      const query = queryOf(req);
      const rows = await store.list(team.id, {
        limit: limit + 1,
        after: after && positionOf(after),
        target: query.get('target'),
        states: query.getAll('state') as OperationState[],
        kinds: query.getAll('kind') as OperationKind[],
      });
      const { items, next } = pageOf(rows, limit, cursorAt);
      const context = { team, publicUrl: publicUrl() };
      res.json({ items: items.map((operation) => operationBody(operation, context)), next });
    },

    async getOperation(req, res) {
      const { team } = callerOf(res);
      const id = req.params.id as string;
      const operation = isId(id) ? await store.find(team.id, id) : null;
      if (operation === null) throw notFound();
      res.json(operationBody(operation, { team, publicUrl: publicUrl() }));
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}
