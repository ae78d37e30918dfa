import { randomUUID } from 'node:crypto';
import { outside } from '@corral/admission';
import { asOperationId } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import { type GardenClient, type GardenFeature, renderJoinCommand } from '@corral/garden';
import type { Queue } from '@corral/queue';
import type { ChangeTeam } from '../changes/team-changes.js';
import { serverWakeUp } from '../wake-ups.js';
import { type AdoptedServerDeps, adoptedServerService } from './adopted-servers.js';
import { type ProjectDeps, serverInProject } from './cloud-project.js';
import { joinCommandStore } from './join-command-store.js';
import { joinCommandService } from './join-commands.js';
import { adoptedServerRoutes } from './routes.js';
import { adoptedServerStore } from './store.js';

export interface ServerConfig {
  /** Public base URL of this service, without a trailing slash. */
  readonly publicUrl: () => string;
  /** Optional features that the garden supports. */
  readonly gardenFeatures: ReadonlySet<GardenFeature>;
  /** Quota of teams without an override. */
  readonly adoptedServersPerTeam: number;
}

export interface ServerHandlerDeps extends Pick<AdoptedServerDeps, 'open'>, Pick<ProjectDeps, 'projects'> {
  readonly config: ServerConfig;
  readonly prisma: Prisma;
  readonly changeTeam: ChangeTeam;
  readonly queue: Pick<Queue, 'nudge'>;
  readonly verifyToken: ProjectDeps['verify'];
  /** Bootstrap tokens with which machines join clusters. */
  readonly garden: { readonly nodes: Pick<GardenClient['nodes'], 'joinData' | 'endJoin'> };
  /** Unix time in ms. */
  readonly now: () => number;
}

/** Builds the handlers for servers that teams adopt over their connections. */
export function buildServerHandlers(deps: ServerHandlerDeps) {
  const { config, prisma, changeTeam, queue, projects, verifyToken, open, garden, now } = deps;
  const store = adoptedServerStore(prisma, changeTeam);
  const { gardenFeatures: features, adoptedServersPerTeam: serversPerTeam, publicUrl } = config;
  const wake = serverWakeUp(queue);
  const servers = adoptedServerService({
    store,
    readServer: (scope, ...call) => outside(scope, () => serverInProject({ projects, verify: verifyToken }, ...call)),
    open,
    newId: () => asOperationId(randomUUID()),
    serversPerTeam,
    features,
    wake,
  });
  const joinCommands = joinCommandService({
    store: joinCommandStore(prisma, changeTeam),
    joinData: (scope, ...call) => outside(scope, () => garden.nodes.joinData(...call)),
    endJoin: (scope, ...call) => outside(scope, () => garden.nodes.endJoin(...call)),
    render: renderJoinCommand,
    features,
    wake,
    now,
  });
  return adoptedServerRoutes({ servers, joinCommands, store, publicUrl });
}
