import { outside } from '@corral/admission';
import { isOpen, type OperationRecord } from '@corral/cluster-data';
import {
  type ClusterOperationId,
  coversCluster,
  nextLookSeconds,
  type OperationKind,
  type OperationState,
} from '@corral/contracts';
import { queryOf } from '@corral/http-api';
import type { Request, RequestHandler, Response } from 'express';
import { type Caller, clustersOf } from '../changes/caller.js';
import { callerOf } from '../http/caller.js';
import { preferredWaitSeconds } from '../http/headers.js';
import type { OperationWaitRoom } from '../http/operation-wait-room.js';
import { parsePaging } from '../http/query.js';
import { cursorAt, pageOf, parseId, positionOf } from '../paging.js';
import { notFound } from '../problem.js';
import { operationBody } from './body.js';
import type { OperationWaits, WaitEnd } from './operation-waits.js';
import type { OperationStore } from './store.js';

/** Whether the narrowing of the caller, if any, covers the target of the operation. */
function isVisible({ target }: OperationRecord, caller: Caller): boolean {
  const clusters = clustersOf(caller);
  return clusters === null || (target.kind === 'Cluster' && coversCluster({ clusters }, target.name));
}

export interface OperationRoutesDeps {
  readonly store: Pick<OperationStore, 'find' | 'list'>;
  readonly waits: Pick<OperationWaits, 'until'>;
  readonly room: OperationWaitRoom;
  /** Loads the caller anew and checks the access, because either may have ended. @throws Problem */
  readonly admitAgain: (req: Request, res: Response) => Promise<void>;
  /** Base URL of this service, without a trailing slash. */
  readonly publicUrl: () => string;
}

export function operationRoutes({ store, waits, room, admitAgain, publicUrl }: OperationRoutesDeps) {
  const operationIn = async (req: Request, res: Response): Promise<OperationRecord> => {
    const caller = callerOf(res);
    const id = parseId(req.params.id as string);
    const operation = id === null ? null : await store.find(caller.team.id, id);
    if (operation === null || !isVisible(operation, caller)) throw notFound();
    return operation;
  };
  /** @returns null where there is no room to wait */
  const wait = async (res: Response, id: OperationRecord['id'], seconds: number): Promise<WaitEnd | null> => {
    const caller = callerOf(res);
    const { team, userId, account, scope } = caller;
    const leave = room.enter(team.id, account?.id ?? userId ?? '');
    if (leave === null) return null;
    return outside(scope, () => waits.until(scope, { teamId: team.id, id }, seconds)).finally(leave);
  };

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

    /** With `Prefer: wait`, the answer comes when the operation is final or the time is up (RFC 7240). */
    async getOperation(req, res) {
      const seconds = preferredWaitSeconds(req);
      let operation = await operationIn(req, res);
      const mustWait = seconds > 0 && isOpen(operation);
      const end = mustWait ? await wait(res, operation.id, seconds) : 'ended';
      if (end === 'gone') return;
      if (mustWait && end !== null) {
        await admitAgain(req, res);
        operation = await operationIn(req, res);
      }
      if (seconds > 0 && (end === 'ended' || end === 'elapsed')) res.set('Preference-Applied', `wait=${seconds}`);
      if (isOpen(operation)) res.set('Retry-After', String(nextLookSeconds(operation)));
      res.json(operationBody(operation, { team: callerOf(res).team, publicUrl: publicUrl() }));
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}
