import {
  type AdoptedServerSpec,
  asServerId,
  type ServerArchitecture,
  type ServerId,
  type ServerKind,
  type ServerPhase,
} from '@corral/contracts';
import type { Columns } from './columns.js';

/** The machine, as acknowledged by its team. */
export interface ServerSpecRow {
  /** The provider's server id. `pg` reads it as a number, Prisma as a bigint. */
  readonly serverId: bigint | number;
  readonly serverType: string;
  readonly location: string;
  readonly architecture: string;
  readonly serverKind: string;
}

/** State of the adoption, and the node pool that uses the server. */
export interface ServerStateRow {
  readonly id: string;
  readonly phase: string;
  readonly message: string;
  readonly generation: number;
  readonly claimToken: string;
  readonly nodeName: string | null;
  readonly observedAt: Date | null;
  readonly deregisterRequestedAt: Date | null;
}

/** Further columns that answers show. */
export interface ServerShownRow {
  readonly name: string;
  readonly operationId: string | null;
  readonly adoptedAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Progress of the rebuild of the current generation, as recorded by passes. */
export interface ServerRebuildRow {
  readonly acknowledgedAt: Date;
  readonly purpose: string;
  readonly begunAt: Date;
  readonly claimedAt: Date | null;
  readonly image: string | null;
  readonly rebuildAskedAt: Date | null;
  readonly rebuildActionId: number | null;
  readonly failures: number;
}

export const serverColumns = {
  spec: {
    serverId: 'server_id',
    serverType: 'server_type',
    location: 'location',
    architecture: 'architecture',
    serverKind: 'server_kind',
  } satisfies Columns<ServerSpecRow>,
  state: {
    id: 'id',
    phase: 'phase',
    message: 'message',
    generation: 'generation',
    claimToken: 'claim_token',
    nodeName: 'node_name',
    observedAt: 'observed_at',
    deregisterRequestedAt: 'deregister_requested_at',
  } satisfies Columns<ServerStateRow>,
  shown: {
    name: 'name',
    operationId: 'operation_id',
    adoptedAt: 'adopted_at',
    createdAt: 'created_at',
    updatedAt: 'updated_at',
  } satisfies Columns<ServerShownRow>,
  rebuild: {
    acknowledgedAt: 'acknowledged_at',
    purpose: 'purpose',
    begunAt: 'begun_at',
    claimedAt: 'claimed_at',
    image: 'image',
    rebuildAskedAt: 'rebuild_asked_at',
    rebuildActionId: 'rebuild_action_id',
    failures: 'failures',
  } satisfies Columns<ServerRebuildRow>,
} as const;

export const serverSpecOf = (row: ServerSpecRow): AdoptedServerSpec => ({
  serverID: Number(row.serverId),
  serverType: row.serverType,
  location: row.location,
  architecture: row.architecture as ServerArchitecture,
  serverKind: row.serverKind as ServerKind,
});

export interface ServerState {
  readonly id: ServerId;
  readonly phase: ServerPhase;
  /** A sentence for people about the phase. */
  readonly message: string;
  /**
   * Number of acknowledgements; each permits one rebuild. For a machine that joins by command, also the number of its commands.
   */
  readonly generation: number;
  /** Value of the label that marks the server's owner at the provider. */
  readonly claimToken: string;
  /** Name of its Node. Set from the moment when it may join until it has been rebuilt. */
  readonly nodeName: string | null;
  /** The time when the provider last reported it. */
  readonly observedAt: Date | null;
  readonly deregisterRequestedAt: Date | null;
}

export const serverStateOf = (row: ServerStateRow): ServerState => ({
  id: asServerId(row.id),
  phase: row.phase as ServerPhase,
  message: row.message,
  generation: row.generation,
  claimToken: row.claimToken,
  nodeName: row.nodeName,
  observedAt: row.observedAt,
  deregisterRequestedAt: row.deregisterRequestedAt,
});
