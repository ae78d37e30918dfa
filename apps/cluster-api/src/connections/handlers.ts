import type { Prisma } from '@corral/database';
import type { Queue } from '@corral/queue';
import type { ChangeTeam } from '../changes/team-changes.js';
import { clusterWakeUp, connectionWakeUp, serverWakeUp } from '../wake-ups.js';
import { type ConnectionDeps, connectionService } from './connections.js';
import { connectionRoutes } from './routes.js';
import { connectionStore } from './store.js';

export interface ConnectionHandlerDeps extends Pick<ConnectionDeps, 'seal' | 'open' | 'isOtherProject'> {
  /** `publicUrl`: public base URL of this service, without a trailing slash. */
  readonly config: { readonly publicUrl: () => string };
  readonly prisma: Prisma;
  readonly changeTeam: ChangeTeam;
  readonly queue: Pick<Queue, 'nudge'>;
  readonly verifyToken: ConnectionDeps['verify'];
}

/** Builds the handlers for connections to cloud projects. */
export function buildConnectionHandlers(deps: ConnectionHandlerDeps) {
  const { config, prisma, changeTeam, queue, verifyToken, seal, open, isOtherProject } = deps;
  const store = connectionStore(prisma, changeTeam);
  const connections = connectionService({
    store,
    seal,
    open,
    verify: verifyToken,
    isOtherProject,
    wake: clusterWakeUp(queue),
    wakeServer: serverWakeUp(queue),
    wakeConnection: connectionWakeUp(queue),
  });
  return connectionRoutes({ store, publicUrl: config.publicUrl, connections });
}
