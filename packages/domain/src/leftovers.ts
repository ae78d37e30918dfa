import { expiresLabel, type Rrset } from '@corral/contracts';
import { contentOf, keyOf, type WantedSet } from './plan.js';

const DAY_MS = 86_400_000;
/** The name of a challenge, or of one per account, such as `_ujmm._acme-challenge.www`. */
const challengeForm = /^(_[^.]+\.)?_acme-challenge(\.|$)/i;

/** The last change of each record set, as the cluster API lists it. */
export type RecordSetChanges = readonly { readonly name: string; readonly type: string; readonly changedAt: string }[];

export interface Leftover {
  readonly rrset: Rrset;
  readonly changedAt: Date;
}

/**
 * ACME challenges that nobody took away: TXT sets that did not change for a day. A challenge takes minutes. Sets that end by
 * themselves, and those that are protected, are none. A set of unknown age is none either.
 */
export function acmeLeftovers(rrsets: readonly Rrset[], changes: RecordSetChanges, now: Date): Leftover[] {
  const changed = new Map(changes.map((each) => [keyOf(each), new Date(each.changedAt)]));
  return rrsets.flatMap((rrset) => {
    const changedAt = changed.get(keyOf(rrset));
    const isChallenge = rrset.type === 'TXT' && challengeForm.test(rrset.name);
    const isKept = rrset.protection.change || Object.hasOwn(rrset.labels, expiresLabel);
    if (!isChallenge || isKept || changedAt === undefined) return [];
    return now.getTime() - changedAt.getTime() > DAY_MS ? [{ rrset, changedAt }] : [];
  });
}

/** The removal of a set as it is seen: one that changes before that stays. */
export const removalOf = (rrset: Rrset): WantedSet => {
  const { name, type } = rrset;
  return { name, type, content: null, seen: contentOf(rrset) };
};
