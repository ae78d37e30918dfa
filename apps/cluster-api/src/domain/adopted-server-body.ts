import { type AdoptedServer, apiVersion } from '@corral/contracts';
import { type AdoptedServerRecord, serverNameOf } from './adopted-server-record.js';
import type { Caller } from './caller.js';

/** An adopted server as answers show it. */
export function adoptedServerBody({ team }: Pick<Caller, 'team'>, of: AdoptedServerRecord): AdoptedServer {
  const { id, spec, connectionRef, phase, message, claimedBy, operationId } = of;
  return {
    apiVersion,
    kind: 'AdoptedServer',
    metadata: {
      ...{ name: of.name || serverNameOf(spec), id, serverID: spec.serverID, team: team.slug, connectionRef },
      createdAt: of.createdAt.toISOString(),
      updatedAt: of.updatedAt.toISOString(),
    },
    spec: { ...spec },
    status: {
      ...{ phase, message, claimedBy: claimedBy && { ...claimedBy }, operationId },
      adoptedAt: of.adoptedAt?.toISOString() ?? null,
      observedAt: of.observedAt?.toISOString() ?? null,
    },
  };
}
