import type { ServerState } from '@corral/cluster-data';
import { type AdoptedServer, type AdoptedServerSpec, apiVersion, type OperationId } from '@corral/contracts';

/** A stored server of a team: what was acknowledged and what was last observed. */
export interface AdoptedServerRecord extends Omit<ServerState, 'nodeName'> {
  readonly connectionRef: string;
  readonly spec: AdoptedServerSpec;
  /** The name at the provider. Empty until known. */
  readonly name: string;
  readonly claimedBy: { readonly cluster: string; readonly nodePool: string } | null;
  /** Whether it is a node of a cluster or may still be one. */
  readonly mayBeNode: boolean;
  readonly operationId: OperationId | null;
  readonly adoptedAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Operations and the audit log name a server by its id, which never changes. */
export const serverNameOf = ({ serverID }: AdoptedServerSpec): string => String(serverID);

/** An adopted server as clients see it. */
export function adoptedServerBody(
  { team }: { readonly team: { readonly slug: string } },
  of: AdoptedServerRecord,
): AdoptedServer {
  const { id, spec, connectionRef, phase, message, claimedBy, operationId } = of;
  return {
    apiVersion,
    kind: 'AdoptedServer',
    metadata: {
      name: of.name || serverNameOf(spec),
      id,
      serverID: spec.serverID,
      team: team.slug,
      connectionRef,
      createdAt: of.createdAt.toISOString(),
      updatedAt: of.updatedAt.toISOString(),
    },
    spec: { ...spec },
    status: {
      phase,
      message,
      claimedBy: claimedBy && { ...claimedBy },
      operationId,
      adoptedAt: of.adoptedAt?.toISOString() ?? null,
      observedAt: of.observedAt?.toISOString() ?? null,
    },
  };
}
