import { type LoadCallerOptions, loadCaller } from '@corral/auth';
import { type ClusterRoute, clusterRoutes } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import type { Log, Metrics } from '@corral/service';
import type { Request, RequestHandler, Response } from 'express';
import type { OperationWaitLimits } from '../app-config.js';
import { admit } from '../http/caller.js';
import { operationWaitRoom } from '../http/operation-wait-room.js';
import { type OperationWaitsDeps, operationWaits } from './operation-waits.js';
import { operationRoutes } from './routes.js';
import { operationStore } from './store.js';

export interface OperationHandlerDeps {
  readonly config: {
    /** Base URL of this service, without a trailing slash. */
    readonly publicUrl: () => string;
    readonly operationWaits: OperationWaitLimits;
  };
  readonly prisma: Prisma;
  readonly sessions: LoadCallerOptions['sessions'];
  readonly sessionUse: { readonly note: LoadCallerOptions['onUse'] };
  readonly accounts: LoadCallerOptions['accounts'];
  readonly accountUse: { readonly note: LoadCallerOptions['onTokenUse'] };
  /** Notifications from Postgres. */
  readonly eventNotifications: OperationWaitsDeps['onNotification'];
  readonly health: { readonly draining: AbortSignal };
  readonly metrics: Pick<Metrics, 'gauge'>;
  readonly log: Log;
}

const POLL_MS = 1_000;

/** Builds the handlers for operations. */
export function buildOperationHandlers(deps: OperationHandlerDeps) {
  const { config, prisma, sessions, sessionUse, accounts, accountUse, metrics, log } = deps;
  const store = operationStore(prisma);
  const waits = operationWaits({
    findEnded: store.findEnded,
    onNotification: deps.eventNotifications,
    pollMs: POLL_MS,
    ending: deps.health.draining,
    onError: (error) => log.warn('waited operations not read', { error }),
  });
  metrics.gauge({
    name: 'corral_operation_waits_count',
    help: 'Requests that wait for an operation to end',
    collect() {
      this.set(waits.count());
    },
  });
  const load = loadCaller({ sessions, onUse: sessionUse.note, accounts, onTokenUse: accountUse.note });
  const admitted = admit(
    (clusterRoutes as readonly ClusterRoute[]).find((row) => row.operationId === 'getOperation') as ClusterRoute,
  );
  return operationRoutes({
    store,
    waits,
    room: operationWaitRoom(config.operationWaits),
    publicUrl: config.publicUrl,
    async admitAgain(req, res) {
      await passing(load, req, res);
      await passing(admitted, req, res);
    },
  });
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
