import type { ConnectionRecord as StoredConnection } from '@corral/cluster-data';
import { apiVersion, type Connection } from '@corral/contracts';
import { contentTagOf, quoted } from '../changes/entity-tag.js';

/** A stored connection, without its token. */
export interface ConnectionRecord extends StoredConnection {
  /** The currency of the price list. Null until first read. */
  readonly currency: string | null;
}

/** The entity tag of the connection, without quotes. */
export function connectionTagOf(of: ConnectionRecord): string {
  return contentTagOf(of.id, of.generation, statedOf(of));
}

/** A connection as clients see it. Contains neither the token nor anything derived from it. */
export function connectionBody(
  { team }: { readonly team: { readonly slug: string } },
  of: ConnectionRecord,
): Connection {
  return {
    apiVersion,
    kind: 'Connection',
    metadata: {
      ref: of.ref,
      name: of.name,
      id: of.id,
      team: team.slug,
      generation: of.generation,
      etag: quoted(connectionTagOf(of)),
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
