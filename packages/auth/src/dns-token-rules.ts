import { isAtOrBelow, isWritableType, parseRrsetName } from '@corral/contracts';
import { type TeamRecord, TeamRuleError } from './team-store.js';

export interface NewDnsToken {
  readonly name: string;
  readonly expiresAt?: Date | null | undefined;
  readonly withinName?: string | null | undefined;
  readonly withinTypes?: readonly string[] | undefined;
  readonly scopes?: readonly string[] | undefined;
}

/** A token cannot be issued as asked. */
export class DnsTokenRefused extends TeamRuleError {
  /**
   * @param field what is wrong, null when nothing is but the team has as many tokens as it may have
   * @param wrong goes on where the field's name ends; a sentence without a field. No full stop
   */
  constructor(
    readonly field: 'withinName' | 'withinTypes' | 'expiresAt' | null,
    readonly wrong: string,
  ) {
    super(`${field === null ? '' : `${field} `}${wrong}.`);
  }
}

/**
 * A narrowed token stays inside of its team, and none is issued that has ended.
 *
 * @throws DnsTokenRefused
 */
export function checkNewDnsToken(
  { slug }: Pick<TeamRecord, 'slug'>,
  { withinName, withinTypes = [], expiresAt }: NewDnsToken,
  now: Date,
): void {
  if (withinName != null && (!isAtOrBelow(withinName, slug) || parseRrsetName(withinName, '') === null)) {
    throw new DnsTokenRefused('withinName', `must be "${slug}" or a name below it`);
  }
  const unknown = withinTypes.find((type) => !isWritableType(type));
  if (unknown !== undefined) throw new DnsTokenRefused('withinTypes', `cannot contain "${unknown}"`);
  if (expiresAt != null && !(expiresAt > now)) throw new DnsTokenRefused('expiresAt', 'must be in the future');
}
