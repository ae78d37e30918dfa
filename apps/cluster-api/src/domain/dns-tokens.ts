import { type DnsTokenRecord, DnsTokenRefused, type NewDnsToken } from '@corral/auth';
import { type DnsTokenState, type DnsTokenWish, parseTime } from '@corral/contracts';
import { invalidField, notFound, Problem } from '../problem.js';
import type { Caller } from './caller.js';
import type { KeyedRequest } from './keyed-request.js';
import type { Position } from './position.js';

export interface DnsTokenQuery {
  readonly limit: number;
  /** Sort key of the last one of the page before. */
  readonly after: Position | null;
  readonly state: DnsTokenState | null;
}

/** `token` is null when its text was shown before: it is kept nowhere. */
export interface IssuedDnsToken {
  readonly record: DnsTokenRecord;
  readonly token: string | null;
}

/** Changes to the tokens of one team, one at a time. */
export interface DnsTokenChanges {
  /** @returns null for what the caller may not see */
  find(id: string): Promise<DnsTokenRecord | null>;
  /** @throws DnsTokenRefused */
  issue(id: string, wanted: NewDnsToken): Promise<IssuedDnsToken>;
  revoke(id: string): Promise<void>;
  /** @returns null when the request is new, else the id of what its first copy made */
  claimKey(request: KeyedRequest | null, tokenId: string): Promise<string | null>;
}

/** A member sees the tokens they made themselves, an administrator all of the team. */
export interface DnsTokenStore {
  /** Newest first. */
  list(caller: Caller, query: DnsTokenQuery): Promise<DnsTokenRecord[]>;
  find(caller: Caller, id: string): Promise<DnsTokenRecord | null>;
  /** By which tokens expire. */
  clock(): Promise<Date>;
  /** With the role that the caller has now. @returns null for who is no member any more */
  change<T>(caller: Caller, work: (changes: DnsTokenChanges) => Promise<T>): Promise<T | null>;
}

export type DnsTokenService = ReturnType<typeof dnsTokenService>;

export const dnsTokenService = ({ store, newId }: { store: DnsTokenStore; newId: () => string }) => ({
  /**
   * Makes a token. A request that is sent again with its key makes no second one and gets the token without its text.
   *
   * @throws Problem `validation_failed`, `quota_exceeded`, `idempotency_key_reused`
   */
  async create(caller: Caller, wish: DnsTokenWish, request: KeyedRequest | null): Promise<IssuedDnsToken> {
    const wanted = { ...wish, expiresAt: expiryOf(wish) };
    try {
      const issued = await store.change(caller, async (changes) => {
        const id = newId();
        const madeBefore = await changes.claimKey(request, id);
        if (madeBefore === null) return changes.issue(id, wanted);
        const record = await changes.find(madeBefore);
        if (record === null) throw notFound();
        return { record, token: null };
      });
      if (issued === null) throw notFound();
      return issued;
    } catch (error) {
      throw error instanceof DnsTokenRefused ? problemOf(error) : error;
    }
  },

  /**
   * Revokes a token for good. One that is revoked already is as it was asked for.
   *
   * @throws Problem `not_found`
   */
  async revoke(caller: Caller, id: string): Promise<void> {
    const done = await store.change(caller, async (changes) => {
      const token = await changes.find(id);
      if (token === null) throw notFound();
      if (token.revokedAt === null) await changes.revoke(id);
      return true;
    });
    if (done === null) throw notFound();
  },
});

function expiryOf({ expiresAt }: DnsTokenWish): Date | null {
  if (expiresAt === null) return null;
  const time = parseTime(expiresAt);
  if (time === null) throw invalidField('validation_failed', '/expiresAt', 'must be a valid calendar date');
  return time;
}

const problemOf = ({ field, wrong, message }: DnsTokenRefused): Problem =>
  field === null ? new Problem('quota_exceeded', message) : invalidField('validation_failed', `/${field}`, wrong);
