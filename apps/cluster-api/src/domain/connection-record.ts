import type { ConnectionPhase, ConnectionProject } from '@corral/contracts';

/** A stored connection, without its token. */
export interface ConnectionRecord {
  readonly id: string;
  readonly ref: string;
  /** Counts the accepted changes. */
  readonly generation: number;
  readonly name: string;
  readonly provider: string;
  readonly providerConfig: Readonly<Record<string, unknown>>;
  readonly phase: ConnectionPhase;
  /** When the provider last accepted the token. */
  readonly verifiedAt: Date | null;
  readonly message: string;
  /** What the provider's answers told of the project; null until there was one about this token. */
  readonly project: Readonly<Omit<ConnectionProject, 'currency'>> | null;
  /** Of the price list; null until it was read. */
  readonly currency: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A token as it is stored: the name of its key, and what that key opens. */
export interface SealedToken {
  readonly keyId: string;
  readonly bytes: Uint8Array;
}
