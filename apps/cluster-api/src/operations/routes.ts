import { outside, places } from '@corral/admission';
import { isOpen, type OperationRecord } from '@corral/cluster-data';
import {
  type ClusterOperationId,
  type ClusterRoute,
  clusterRoutes,
  coversCluster,
  nextLookSeconds,
  type OperationKind,
  type OperationState,
  parseId,
  type TeamId,
} from '@corral/contracts';
import { queryOf } from '@corral/http-api';
import type { Request, RequestHandler, Response } from 'express';
import type { OperationWaitLimits } from '../app-config.js';
import { type Caller, clustersOf } from '../changes/caller.js';
import { admit, callerLoader, callerOf } from '../http/caller.js';
import { shareOfTeam } from '../http/limits.js';
import { parsePaging, preferredWaitSeconds } from '../http/request.js';
import { cursorAt, pageOf, positionOf } from '../paging.js';
import { notFound } from '../problem.js';
import type { Services } from '../services.js';
import { operationWaits, type WaitEnd } from './operation-waits.js';
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
  const enter = operationWaitRoom(config.operationWaits);
  const admitAgain = admissionToOperations(services);
  const operationIn = async (req: Request, res: Response): Promise<OperationRecord> => {
    const caller = callerOf(res);
    const id = parseId(req.params.id as string);
    const operation = id === null ? null : await findOperation(prisma, caller.team.id, id);
    if (operation === null || !isVisible(operation, caller)) throw notFound();
    return operation;
  };
  /** @returns null where there is no room to wait */
  const wait = async (res: Response, id: OperationRecord['id'], seconds: number): Promise<WaitEnd | null> => {
    const caller = callerOf(res);
    const { team, userId, account, scope } = caller;
    const leave = enter(team.id, account?.id ?? userId ?? '');
    if (leave === null) return null;
    return outside(scope, () => waits.until(scope, { teamId: team.id, id }, seconds)).finally(leave);
  };

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
      const mustWait = seconds > 0 && isOpen(operation);
      const end = mustWait ? await wait(res, operation.id, seconds) : 'ended';
      if (end === 'gone') return;
      if (mustWait && end !== null) {
        await admitAgain(req, res);
        operation = await operationIn(req, res);
      }
      if (seconds > 0 && (end === 'ended' || end === 'elapsed')) res.set('Preference-Applied', `wait=${seconds}`);
      if (isOpen(operation)) res.set('Retry-After', String(nextLookSeconds(operation)));
      res.json(operationBody(operation, { team: callerOf(res).team, publicUrl: config.publicUrl() }));
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

/** Bounds the requests that wait for operations concurrently. */
function operationWaitRoom({ perCaller, perTeam, perProcess }: OperationWaitLimits) {
  const ofCaller = places(perCaller);
  const ofTeam = places(Math.min(perTeam, shareOfTeam(perProcess)));
  const ofProcess = places(perProcess);
  /**
   * @param caller the id of the person or the service account
   * @returns a function that gives the place back; null when the caller, the team or the process has none left
   */
  return (teamId: TeamId, caller: string): (() => void) | null => {
    const taken: (() => void)[] = [];
    const leave = (): void => {
      for (const giveBack of taken) giveBack();
    };
    for (const take of [() => ofCaller.take(caller), () => ofTeam.take(teamId), () => ofProcess.take('')]) {
      const giveBack = take();
      if (giveBack === null) {
        leave();
        return null;
      }
      taken.push(giveBack);
    }
    return leave;
  };
}

/** Loads the caller anew and checks the access, because either may have ended during the wait. */
function admissionToOperations(services: Services): (req: Request, res: Response) => Promise<void> {
  const rows: readonly ClusterRoute[] = clusterRoutes;
  const load = callerLoader(services);
  const admitted = admit(rows.find((row) => row.operationId === 'getOperation') as ClusterRoute);
  return async (req, res) => {
    await passing(load, req, res);
    await passing(admitted, req, res);
  };
}

/** Runs a handler that passes the request on. @throws what it throws */
async function passing(handler: RequestHandler, req: Request, res: Response): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const passed = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
    Promise.resolve()
      .then(() => handler(req, res, passed))
      .catch(reject);
  });
}
