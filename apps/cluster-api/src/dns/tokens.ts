import { type DnsTokenRecord, DnsTokenRefused, type NewDnsToken } from '@corral/auth';
import { type DnsTokenBody, type DnsTokenState, type DnsTokenWish, parseTime } from '@corral/contracts';
import type { KeyedRequest, PersonCaller } from '../changes/caller.js';
import type { Position } from '../paging.js';
import { invalidField, notFound, Problem } from '../problem.js';

interface DnsTokenQuery {
  readonly limit: number;
  /** Sort key of the last item of the previous page. */
  readonly after: Position | null;
  readonly state: DnsTokenState | null;
}

/** `token` is null for a repeated request: the text is returned once and never stored. */
interface IssuedDnsToken {
  readonly record: DnsTokenRecord;
  readonly token: string | null;
}

/** Changes of one team's tokens. The team's changes are serialized. */
export interface DnsTokenTransaction {
  /** @returns null when the caller may not see the token */
  find(id: string): Promise<DnsTokenRecord | null>;
  /** @throws DnsTokenRefused */
  issue(id: string, wanted: NewDnsToken): Promise<IssuedDnsToken>;
  revoke(id: string): Promise<void>;
  /** @returns null when the request is new, else the token id of the first request with this key */
  registerKey(request: KeyedRequest | null, tokenId: string): Promise<string | null>;
}

/** Members see the tokens that they created, administrators all tokens of the team. */
export interface DnsTokenStore {
  /** Newest first. */
  list(caller: PersonCaller, query: DnsTokenQuery): Promise<DnsTokenRecord[]>;
  find(caller: PersonCaller, id: string): Promise<DnsTokenRecord | null>;
  /** The database's clock, which decides when tokens expire. */
  clock(): Promise<Date>;
  /** Runs with the caller's current role. @returns null when the caller is no longer a member, or a viewer now */
  change<T>(caller: PersonCaller, work: (tx: DnsTokenTransaction) => Promise<T>): Promise<T | null>;
}

export type DnsTokenService = ReturnType<typeof dnsTokenService>;

export const dnsTokenService = ({ store, newId }: { store: DnsTokenStore; newId: () => string }) => ({
  /**
   * Creates a token. A repeated request with the same key returns the existing token without its text.
   *
   * @throws Problem `validation_failed`, `quota_exceeded`, `idempotency_key_reused`
   */
  async create(caller: PersonCaller, requested: DnsTokenWish, request: KeyedRequest | null): Promise<IssuedDnsToken> {
    const wanted = { ...requested, expiresAt: expiryOf(requested) };
    try {
      const issued = await store.change(caller, async (tx) => {
        const id = newId();
        const madeBefore = await tx.registerKey(request, id);
        if (madeBefore === null) return tx.issue(id, wanted);
        const record = await tx.find(madeBefore);
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
   * Revokes a token permanently. Revoking it again changes nothing.
   *
   * @throws Problem `not_found`
   */
  async revoke(caller: PersonCaller, id: string): Promise<void> {
    const done = await store.change(caller, async (tx) => {
      const token = await tx.find(id);
      if (token === null) throw notFound();
      if (token.revokedAt === null) await tx.revoke(id);
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

/** A DNS token as clients see it. Contains neither its text nor its hash. */
export function dnsTokenBody(of: DnsTokenRecord, now: Date): DnsTokenBody {
  const { id, name, scopes, withinName, withinTypes, createdBy } = of;
  return {
    id,
    name,
    state: stateOf(of, now),
    scopes: [...scopes],
    withinName,
    withinTypes: [...withinTypes],
    createdAt: of.createdAt.toISOString(),
    createdBy: createdBy && { ...createdBy },
    expiresAt: of.expiresAt?.toISOString() ?? null,
    lastUsedAt: of.lastUsedAt?.toISOString() ?? null,
    revokedAt: of.revokedAt?.toISOString() ?? null,
  };
}

function stateOf({ revokedAt, expiresAt }: DnsTokenRecord, now: Date): DnsTokenState {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'active';
}
