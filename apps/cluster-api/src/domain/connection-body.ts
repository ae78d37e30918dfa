import { apiVersion, type Connection } from '@corral/contracts';
import type { Caller } from './caller.js';
import type { ConnectionRecord } from './connection-record.js';

/** A connection as answers show it: never its token, nor anything that could be told from it. */
export function connectionBody({ team }: Pick<Caller, 'team'>, of: ConnectionRecord): Connection {
  return {
    apiVersion,
    kind: 'Connection',
    metadata: {
      ...{ ref: of.ref, name: of.name, id: of.id, team: team.slug },
      createdAt: of.createdAt.toISOString(),
      updatedAt: of.updatedAt.toISOString(),
    },
    spec: {
      name: of.name,
      provider: of.provider as Connection['spec']['provider'],
      providerConfig: { ...of.providerConfig },
    },
    status: {
      phase: of.phase,
      verifiedAt: of.verifiedAt?.toISOString() ?? null,
      message: of.message,
      project: of.project && { ...of.project, currency: of.currency },
    },
  };
}
