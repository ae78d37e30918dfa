import { isAtOrBelow, type TeamId } from '@corral/contracts';

/** The scope that the record-set endpoints require. */
export const DNS_SCOPE = 'dns';

/** The caller of the DNS API, from its token. Contains nothing that would reveal the token's text. */
export interface DnsCaller {
  readonly tokenId: string;
  /** A team's names are in the team zone, a demo's in the demo zone. Neither sees the other zone. */
  readonly kind: 'team' | 'demo';
  /** The team or demo that owns names, quota and actions. */
  readonly ownerId: string;
  /** The team's slug or the demo's label: the last label of its names. */
  readonly ownerLabel: string;
  /** The team, or the team of the demo; null for a demo created with a course code. */
  readonly teamId: TeamId | null;
  /** Account for request and upstream budgets: the team, or the course, which counts as one team. */
  readonly accountId: string;
  readonly scopes: readonly string[];
  /** Narrows reads and writes to this name and below; null for all names of the owner. */
  readonly withinName: string | null;
  /** Narrows writes to these types; empty for every type the API writes. */
  readonly withinTypes: readonly string[];
  readonly expiresAt: Date | null;
}

/** The name at and below which the caller sees and writes. */
export function callerRoot(caller: DnsCaller): string {
  return caller.withinName ?? caller.ownerLabel;
}

/** Whether the caller may see a name. Foreign and absent names look the same. */
export function maySee(caller: DnsCaller, name: string): boolean {
  return isAtOrBelow(name, callerRoot(caller)) && isAtOrBelow(name, caller.ownerLabel);
}

/** Whether the token permits writing a record type. Which types the API writes at all is checked elsewhere. */
export function mayWriteType(caller: DnsCaller, type: string): boolean {
  return caller.withinTypes.length === 0 || caller.withinTypes.includes(type);
}
