import type { DnsTokenRecord } from '@corral/auth';
import type { DnsTokenBody, DnsTokenState, RecordSetChangesBody } from '@corral/contracts';
import { dnsActorOf } from '../audit/dns-store.js';
import type { RecordSetChange } from './store.js';

/**
 * A DNS token as clients see it. Contains neither its text nor its hash.
 *
 * @param now the database's clock, which decides when tokens expire
 */
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

export const recordSetChangeBody = (of: RecordSetChange): RecordSetChangesBody['items'][number] => {
  const { name, type, changedAt, actor } = of;
  const changedBy = actor === null ? null : { ...dnsActorOf({ ...of, actor }) };
  return { name, type, changedAt: changedAt.toISOString(), changedBy };
};
