import { isAtOrBelow } from '@corral/contracts';

/** The scope that the record-set endpoints ask for. */
export const DNS_SCOPE = 'dns';

/** Who calls the DNS API: what its token says, and nothing that the token's text could be told from. */
export interface DnsCaller {
  readonly tokenId: string;
  /** A team has its names in the zone of the teams, a demo in the demo zone. Neither sees the other zone. */
  readonly kind: 'team' | 'demo';
  /** Of the team or the demo: names, quota and actions are its own. */
  readonly ownerId: string;
  /** The team's slug or the demo's label, which its names end in. */
  readonly ownerLabel: string;
  /** The team, be it that of a demo; null for a demo made with a course code. */
  readonly teamId: string | null;
  /** On whose account requests and upstream calls go: the team's, or that of the course, which counts as one team. */
  readonly accountId: string;
  readonly scopes: readonly string[];
  /** The token sees and writes only this name and below; null: all names of the owner. */
  readonly withinName: string | null;
  /** The token writes only these types; empty: every type the API writes. */
  readonly withinTypes: readonly string[];
  readonly expiresAt: Date | null;
}

/** The name at and below which the caller sees and writes. */
export function callerRoot(caller: DnsCaller): string {
  return caller.withinName ?? caller.ownerLabel;
}

/** Whether the caller sees a name at all. Foreign and absent names look the same. */
export function maySee(caller: DnsCaller, name: string): boolean {
  return isAtOrBelow(name, callerRoot(caller)) && isAtOrBelow(name, caller.ownerLabel);
}

/** Whether the caller's token covers a record type; the types that anybody may write are a matter of the API. */
export function mayWriteType(caller: DnsCaller, type: string): boolean {
  return caller.withinTypes.length === 0 || caller.withinTypes.includes(type);
}
