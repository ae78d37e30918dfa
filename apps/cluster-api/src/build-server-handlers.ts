import { randomUUID } from 'node:crypto';
import { renderJoinCommand } from '@corral/garden';
import type { PartDeps } from './build-app.js';
import { type AdoptedServerDeps, adoptedServerService } from './domain/adopted-servers.js';
import { joinCommandService } from './domain/join-commands.js';
import { adoptedServerRoutes } from './routes/adopted-servers.js';
import { adoptedServerStore } from './store/adopted-servers.js';
import { joinCommandStore } from './store/join-command-store.js';
import { serverWakeUp } from './wake-ups.js';

/** Servers that teams adopt over their connections. */
export function buildServerHandlers(
  { config, prisma, changeTeam, queue, projects, verifyToken, garden, now }: PartDeps,
  open: AdoptedServerDeps['open'],
) {
  const store = adoptedServerStore(prisma, changeTeam);
  const { gardenFeatures: features, adoptedServersPerTeam: serversPerTeam, publicUrl } = config;
  const wake = serverWakeUp(queue);
  const servers = adoptedServerService({
    ...{ store, projects, verify: verifyToken, open, newId: randomUUID, serversPerTeam, features, wake },
  });
  const joinCommands = joinCommandService({
    ...{ store: joinCommandStore(prisma, changeTeam), nodes: garden.nodes, render: renderJoinCommand },
    ...{ features, wake, now },
  });
  return adoptedServerRoutes({ servers, joinCommands, store, publicUrl });
}
