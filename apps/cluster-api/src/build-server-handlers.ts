import { randomUUID } from 'node:crypto';
import type { PartDeps } from './build-app.js';
import { type AdoptedServerDeps, adoptedServerService } from './domain/adopted-servers.js';
import { adoptedServerRoutes } from './routes/adopted-servers.js';
import { adoptedServerStore } from './store/adopted-servers.js';
import { serverWakeUp } from './wake-ups.js';

/** Servers that teams adopt over their connections. */
export function buildServerHandlers(
  { config, prisma, changeTeam, queue, projects, verifyToken }: PartDeps,
  open: AdoptedServerDeps['open'],
) {
  const store = adoptedServerStore(prisma, changeTeam);
  const servers = adoptedServerService({
    ...{ store, projects, verify: verifyToken, open, newId: randomUUID, serversPerTeam: config.adoptedServersPerTeam },
    wake: serverWakeUp(queue),
  });
  return adoptedServerRoutes({ servers, store, publicUrl: config.publicUrl });
}
