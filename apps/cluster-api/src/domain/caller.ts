import type { Role } from '@corral/contracts';

/** Who asks, and in which team. Every store function takes the team from here, and every query has it in its WHERE. */
export interface Caller {
  readonly userId: string;
  readonly team: { readonly id: string; readonly slug: string };
  readonly role: Role;
  /** For audit entries and problems. */
  readonly requestId: string;
}
