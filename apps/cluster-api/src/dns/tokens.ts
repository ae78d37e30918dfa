import { randomUUID } from 'node:crypto';
import { type DnsTokenRecord, DnsTokenRefused, issueDnsToken, revokeDnsToken } from '@corral/auth';
import { type DnsTokenWish, parseTime } from '@corral/contracts';
import type { KeyedRequest, PersonCaller } from '../changes/caller.js';
import { registerKey } from '../changes/idempotency-keys.js';
import type { ChangeTeam } from '../changes/team-changes.js';
import { found, invalidField, Problem } from '../problem.js';
import { findToken, withCurrentRole } from './store.js';

/** `token` is null for a repeated request: the text is returned once and never stored. */
interface IssuedToken {
  readonly record: DnsTokenRecord;
  readonly token: string | null;
}

/**
 * Creates a token. A repeated request with the same key returns the existing token without its text.
 *
 * @throws Problem `validation_failed`, `quota_exceeded`, `idempotency_key_reused`
 */
export async function createToken(
  changeTeam: ChangeTeam,
  by: PersonCaller,
  wish: DnsTokenWish,
  request: KeyedRequest | null,
): Promise<IssuedToken> {
  const wanted = { ...wish, id: randomUUID(), expiresAt: expiryOf(wish) };
  try {
    return await changeTeam(by, async (tx) => {
      const caller = await withCurrentRole(tx, by);
      const madeBefore = await registerKey(tx, caller, request, wanted.id);
      if (madeBefore === null) return issueDnsToken(tx, caller.team, wanted, caller);
      return { record: found(await findToken(tx, caller, madeBefore)), token: null };
    });
  } catch (error) {
    throw error instanceof DnsTokenRefused ? problemOf(error) : error;
  }
}

/**
 * Revokes a token permanently. Revoking it again changes nothing.
 *
 * @throws Problem `not_found`
 */
export const revokeToken = (changeTeam: ChangeTeam, by: PersonCaller, id: string): Promise<void> =>
  changeTeam(by, async (tx) => {
    const caller = await withCurrentRole(tx, by);
    const token = found(await findToken(tx, caller, id));
    if (token.revokedAt === null) await revokeDnsToken(tx, caller.team, id, caller);
  });

function expiryOf({ expiresAt }: DnsTokenWish): Date | null {
  if (expiresAt === null) return null;
  const time = parseTime(expiresAt);
  if (time === null) throw invalidField('validation_failed', '/expiresAt', 'must be a valid calendar date');
  return time;
}

const problemOf = ({ field, wrong, message }: DnsTokenRefused): Problem =>
  field === null ? new Problem('quota_exceeded', message) : invalidField('validation_failed', `/${field}`, wrong);
