import { outside } from '@corral/admission';
import type { TokenVerdict } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import type { Queue } from '@corral/queue';
import type { ChangeTeam } from '../changes/team-changes.js';
import type { ProjectResources } from '../servers/cloud-project.js';
import { clusterWakeUp, connectionWakeUp, serverWakeUp } from '../wake-ups.js';
import { type ConnectionDeps, connectionService } from './connections.js';
import { connectionRoutes } from './routes.js';
import { connectionStore } from './store.js';

export interface ConnectionHandlerDeps extends Pick<ConnectionDeps, 'seal' | 'open'> {
  /** `publicUrl`: public base URL of this service, without a trailing slash. */
  readonly config: { readonly publicUrl: () => string };
  readonly prisma: Prisma;
  readonly changeTeam: ChangeTeam;
  readonly queue: Pick<Queue, 'nudge'>;
  readonly verifyToken: (token: string) => Promise<TokenVerdict>;
  readonly isOtherProject: (token: string, resources: ProjectResources) => Promise<boolean>;
}

/** Builds the handlers for connections to cloud projects. */
export function buildConnectionHandlers(deps: ConnectionHandlerDeps) {
  const { config, prisma, changeTeam, queue, verifyToken, seal, open, isOtherProject } = deps;
  const store = connectionStore(prisma, changeTeam);
  const connections = connectionService({
    store,
    seal,
    open,
    verify: (scope, token) => outside(scope, () => verifyToken(token)),
    isOtherProject: (scope, ...call) => outside(scope, () => isOtherProject(...call)),
    wake: clusterWakeUp(queue),
    wakeServer: serverWakeUp(queue),
    wakeConnection: connectionWakeUp(queue),
  });
  return connectionRoutes({ store, publicUrl: config.publicUrl, connections });
}
