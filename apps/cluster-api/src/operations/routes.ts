import type { OperationRecord } from '@corral/cluster-data';
import {
  type ClusterOperationId,
  coversCluster,
  isOpenOperation,
  nextLookSeconds,
  type OperationKind,
  type OperationState,
  parseId,
} from '@corral/contracts';
import { queryOf } from '@corral/http-api';
import type { Request, RequestHandler, Response } from 'express';
import { type Caller, clustersOf } from '../changes/caller.js';
import { callerOf } from '../http/caller.js';
import { operationWaitRoom } from '../http/limits.js';
import { readmission } from '../http/readmission.js';
import { parsePaging, preferredWaitSeconds } from '../http/request.js';
import { cursorAt, pageOf, positionOf } from '../paging.js';
import { notFound } from '../problem.js';
import type { Services } from '../services.js';
import { operationWaits } from './operation-waits.js';
import { findEnded, findOperation, listOperations } from './store.js';
import { operationBody } from './view.js';

/** Whether the narrowing of the caller, if any, covers the target of the operation. */
function isVisible({ target }: OperationRecord, caller: Caller): boolean {
  const clusters = clustersOf(caller);
  return clusters === null || (target.kind === 'Cluster' && coversCluster(clusters, target.name));
}

/** How often waited operations are read without a notification, in ms. */
const POLL_MS = 1_000;

/** The handlers for operations. */
export function operationRoutes(services: Services) {
  const { config, prisma, eventNotifications, health, metrics, log } = services;
  const waits = operationWaits({
    findEnded: (operations) => findEnded(prisma, operations),
    onNotification: eventNotifications,
    pollMs: POLL_MS,
    ending: health.draining,
    onError: (error) => log.warn('waited operations not read', { error }),
  });
  metrics.gauge({
    name: 'corral_operation_waits',
    help: 'Requests that wait for an operation to end',
    collect() {
      this.set(waits.count());
    },
  });
  const waitingRoom = operationWaitRoom(config.operationWaits);
  // The caller or the access may have ended during the wait.
  const admitAgain = readmission(services, 'getOperation');
  const operationIn = async (req: Request, res: Response): Promise<OperationRecord> => {
    const caller = callerOf(res);
    const id = parseId(req.params.id as string);
    const operation = id === null ? null : await findOperation(prisma, caller.team.id, id);
    if (operation === null || !isVisible(operation, caller)) throw notFound();
    return operation;
  };
  const waitFor = (caller: Caller, id: OperationRecord['id'], seconds: number) =>
    waitingRoom(caller, () => waits.until(caller.scope, { teamId: caller.team.id, id }, seconds));

  return {
    async listOperations(req, res) {
      const caller = callerOf(res);
      const { team } = caller;
      const { limit, after } = parsePaging(req, 2);
      const query = queryOf(req);
      const rows = await listOperations(prisma, team.id, {
        limit: limit + 1,
        after: after && positionOf(after),
        target: query.get('target'),
        states: query.getAll('state') as OperationState[],
        kinds: query.getAll('kind') as OperationKind[],
        clusters: clustersOf(caller),
      });
      const { items, next } = pageOf(rows, limit, cursorAt);
      const context = { team, publicUrl: config.publicUrl() };
      res.json({ items: items.map((operation) => operationBody(operation, context)), next });
    },

    /** With `Prefer: wait`, the answer comes when the operation is final or the time is up (RFC 7240). */
    async getOperation(req, res) {
      const seconds = preferredWaitSeconds(req);
      let operation = await operationIn(req, res);
      const mustWait = seconds > 0 && isOpenOperation(operation);
      const end = mustWait ? await waitFor(callerOf(res), operation.id, seconds) : 'ended';
      if (end === 'gone') return;
      if (mustWait && end !== null) {
        await admitAgain(req, res);
        operation = await operationIn(req, res);
      }
      if (seconds > 0 && (end === 'ended' || end === 'elapsed')) res.set('Preference-Applied', `wait=${seconds}`);
      if (isOpenOperation(operation)) res.set('Retry-After', String(nextLookSeconds(operation)));
      res.json(operationBody(operation, { team: callerOf(res).team, publicUrl: config.publicUrl() }));
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}
