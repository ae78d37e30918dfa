import { canNarrowTo, isAtOrBelow } from '@corral/contracts';

/** A name on a cluster of the team. */
export interface TakenName {
  readonly name: string;
  /** Name of the cluster. */
  readonly cluster: string;
}

export type HostedNameRefusal =
  /** Not a name of the team. */
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
