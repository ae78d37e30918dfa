import { isAtOrBelow } from '@corral/contracts';

/** The scope that the record-set endpoints ask for. */
export const DNS_SCOPE = 'dns';

/** Who calls the DNS API: what its token says, and nothing that the token's text could be told from. */
export interface DnsCaller {
  readonly tokenId: string;
  readonly teamId: string;
  readonly teamSlug: string;
  readonly scopes: readonly string[];
  /** The token sees and writes only this name and below; null: all of the team's names. */
  readonly withinName: string | null;
  /** The token writes only these types; empty: every type the API writes. */
  readonly withinTypes: readonly string[];
  readonly expiresAt: Date | null;
}

/** The name at and below which the caller sees and writes. */
export function callerRoot(caller: DnsCaller): string {
  return caller.withinName ?? caller.teamSlug;
}

/** Whether the caller sees a name at all. Foreign and absent names look the same. */
export function maySee(caller: DnsCaller, name: string): boolean {
  return isAtOrBelow(name, callerRoot(caller)) && isAtOrBelow(name, caller.teamSlug);
}

/** Whether the caller's token covers a record type; the types that anybody may write are a matter of the API. */
export function mayWriteType(caller: DnsCaller, type: string): boolean {
  return caller.withinTypes.length === 0 || caller.withinTypes.includes(type);
}
