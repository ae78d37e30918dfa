import type { Role } from '@corral/contracts';

/** One request. */
export interface Asking {
  /** For audit entries and problems. */
  readonly requestId: string;
  /** Aborts when whoever asks has gone away, and nobody waits for the answer. */
  readonly gone: AbortSignal;
}

/** Who asks, and in which team. Every store function takes the team from here, and every query has it in its WHERE. */
export interface Caller extends Asking {
  readonly userId: string;
  readonly team: { readonly id: string; readonly slug: string };
  readonly role: Role;
}
