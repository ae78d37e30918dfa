import { addressesOfRecord, type ChangeEffect, coversName, type TokenCoverage } from '@corral/contracts';

/* Finds which record sets of a team lead to which of its addresses. Pure. */

/** A record set of a zone. */
export interface PointingSet {
  readonly zone: string;
  /** Relative to the zone. */
  readonly name: string;
  readonly type: string;
  readonly values: readonly string[];
}

/** An address that a cluster or a server of the team has or had, in canonical form. */
export interface KnownAddress {
  readonly address: string;
  /** The time when it was gone; null while it is there. */
  readonly goneAt: Date | null;
}

/** A record set with those of its values that lead nowhere. */
export interface DanglingSet<A extends KnownAddress> {
  readonly set: PointingSet;
  /** Each value with the last address that it led to. */
  readonly values: readonly { readonly value: string; readonly was: A }[];
}

export interface ClusterAddress extends KnownAddress {
  /** The pool of a node; null for a load balancer and for a node of no pool. */
  readonly pool: string | null;
}

/** The addresses at which a cluster cannot be reached after a change: all of them, or those of nodes that go. */
export function lostAddresses<A extends ClusterAddress>(
  effects: readonly ChangeEffect[],
  addresses: readonly A[],
): A[] {
  const there = addresses.filter(({ goneAt }) => goneAt === null);
  if (effects.some(({ target, kind }) => target === 'cluster' && (kind === 'deleted' || kind === 'hibernated')))
    return there;
  const pools = new Set(
    effects.flatMap((effect) =>
      effect.target === 'nodePool' && (effect.kind === 'removed' || effect.kind === 'replaced') ? effect.pool : [],
    ),
  );
  return there.filter(({ pool }) => pool !== null && pools.has(pool));
}

/** The record sets that a caller may read. */
export const readableSets = (
  sets: readonly PointingSet[],
  coverage: Pick<TokenCoverage, 'ownerLabel' | 'withinName'>,
): PointingSet[] => sets.filter(({ name }) => coversName({ ...coverage, withinTypes: [] }, name));

/** All addresses to which the record sets lead, in canonical form, each once. */
export const addressesOfSets = (sets: readonly PointingSet[]): string[] => [
  ...new Set(sets.flatMap((set) => set.values.flatMap((value) => addressesOfRecord(set.zone, set.type, value)))),
];

/** The record sets that lead to one of the addresses, with only the values that do. */
export function setsPointingTo(sets: readonly PointingSet[], addresses: ReadonlySet<string>): PointingSet[] {
  return sets.flatMap((set) => {
    const values = set.values.filter((value) =>
      addressesOfRecord(set.zone, set.type, value).some((address) => addresses.has(address)),
    );
    return values.length === 0 ? [] : { ...set, values };
  });
}

/**
 * The record sets that lead to an address which is gone. A value is not among them while any cluster or server of the team
 * has its address.
 */
export function danglingSets<A extends KnownAddress>(
  sets: readonly PointingSet[],
  known: readonly A[],
): DanglingSet<A>[] {
  return sets.flatMap((set) => {
    const values = set.values.flatMap((value) => {
      const addresses = addressesOfRecord(set.zone, set.type, value);
      const those = known.filter(({ address }) => addresses.includes(address));
      const was = lastGone(those);
      return was === null ? [] : { value, was };
    });
    return values.length === 0 ? [] : { set, values };
  });
}

/** @returns null if one of them is still there, or there are none */
function lastGone<A extends KnownAddress>(those: readonly A[]): A | null {
  if (those.some(({ goneAt }) => goneAt === null)) return null;
  return those.toSorted((a, b) => Number(b.goneAt) - Number(a.goneAt))[0] ?? null;
}
