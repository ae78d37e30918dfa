import { apiVersion, type Connection } from '@corral/contracts';
import type { Caller } from './caller.js';
import type { ConnectionRecord } from './connection-record.js';
import { contentTagOf, quoted } from './entity-tag.js';

/** The entity tag of answers about the connection, without quotes. */
export function connectionTagOf(of: ConnectionRecord): string {
  return contentTagOf(of.id, of.generation, statedOf(of));
}

/** A connection as answers show it: never its token, nor anything that could be told from it. */
export function connectionBody({ team }: Pick<Caller, 'team'>, of: ConnectionRecord): Connection {
  return {
    apiVersion,
    kind: 'Connection',
    metadata: {
      ...{ ref: of.ref, name: of.name, id: of.id, team: team.slug },
      ...{ generation: of.generation, etag: quoted(connectionTagOf(of)) },
      createdAt: of.createdAt.toISOString(),
      updatedAt: of.updatedAt.toISOString(),
    },
    ...statedOf(of),
  };
}

const statedOf = (of: ConnectionRecord): Pick<Connection, 'spec' | 'status'> => ({
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
});
