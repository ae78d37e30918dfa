import type { ClusterOperationId, OperationState } from '@corral/contracts';
import type { RequestHandler } from 'express';
import { operationBody } from '../domain/operation-body.js';
import { isId } from '../domain/position.js';
import { callerOf } from '../http/caller.js';
import { pageOf } from '../http/cursor.js';
import { cursorAt, positionOf } from '../http/position.js';
import { parsePaging, queryOf } from '../http/query.js';
import { notFound } from '../problem.js';
import type { OperationStore } from '../store/operation-store.js';

export interface OperationRoutesDeps {
  readonly store: OperationStore;
  /** Base address of this service, without a slash at its end. */
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
        state: query.get('state') as OperationState | null,
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
