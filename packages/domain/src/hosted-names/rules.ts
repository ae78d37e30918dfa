import { canNarrowTo, isAtOrBelow } from '@corral/contracts';

/** A name on a cluster of the team. */
export interface TakenName {
  readonly name: string;
  /** Name of the cluster. */
  readonly cluster: string;
}

export type HostedNameRefusal =
  /** The team does not own the name. */
  | { readonly kind: 'foreign' }
  /** Both would write the same records. */
  | { readonly kind: 'taken'; readonly by: TakenName };

/**
 * Whether a team may put the name on a cluster. Names on clusters of a team never overlap: a DNS token covers a name with all names
 * below it, and what writes records in a cluster takes all of these for its own.
 *
 * @param taken all names on clusters of the team
 * @returns null when it may
 */
export function refusalOfHostedName(name: string, slug: string, taken: readonly TakenName[]): HostedNameRefusal | null {
  if (!canNarrowTo(name, slug)) return { kind: 'foreign' };
  const by = taken.find((other) => isAtOrBelow(name, other.name) || isAtOrBelow(other.name, name));
  return by === undefined ? null : { kind: 'taken', by };
}

/** How long a process may work on a name in its cluster before another one may, in milliseconds. */
export const nameClaimMs = 60_000;

/**
 * Finds when the objects of a name are to be removed. They stay while a process may still be applying them, which would bring
 * them back: within the length of a claim the time at which the name is due may be the end of one, and the process makes it
 * due when it ends earlier.
 *
 * @param dueAt when the name is due otherwise
 */
export const removalDueAt = (dueAt: Date, now: Date): Date =>
  dueAt.getTime() > now.getTime() + nameClaimMs ? now : dueAt;
