import type { AdoptedServerSpec, ServerPhase } from '@corral/contracts';

/** A stored server of a team: what was acknowledged, and what was last observed of it. */
export interface AdoptedServerRecord {
  readonly id: string;
  readonly connectionRef: string;
  readonly spec: AdoptedServerSpec;
  /** As the provider calls it; empty until that is known. */
  readonly name: string;
  readonly phase: ServerPhase;
  readonly message: string;
  /** The node pool that draws on it. */
  readonly claimedBy: { readonly cluster: string; readonly nodePool: string } | null;
  /** It is a node of a cluster, or may still be one. */
  readonly isMember: boolean;
  readonly operationId: string | null;
  /** Counts the acknowledgements: one rebuild for each. */
  readonly generation: number;
  /** The value of the label that says at the provider whose the server is. */
  readonly claimToken: string;
  readonly deregisterRequestedAt: Date | null;
  readonly adoptedAt: Date | null;
  readonly observedAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Operations and the audit log name a server by its number, which never changes. */
export const serverNameOf = ({ serverID }: Pick<AdoptedServerSpec, 'serverID'>): string => String(serverID);
