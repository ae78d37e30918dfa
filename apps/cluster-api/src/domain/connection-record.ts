import type { ConnectionPhase } from '@corral/contracts';

/** A stored connection, without its token. */
export interface ConnectionRecord {
  readonly id: string;
  readonly ref: string;
  readonly name: string;
  readonly provider: string;
  readonly providerConfig: Readonly<Record<string, unknown>>;
  readonly phase: ConnectionPhase;
  /** When the provider last accepted the token. */
  readonly verifiedAt: Date | null;
  readonly message: string;
  readonly project: Readonly<Record<string, unknown>> | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A token as it is stored: the name of its key, and what that key opens. */
export interface SealedToken {
  readonly keyId: string;
  readonly bytes: Uint8Array;
}
