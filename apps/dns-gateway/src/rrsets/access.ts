import type { DnsCaller } from '@corral/auth';
import { canRead, coveredRoot, coversName, coversType, writeRefusal } from '@corral/contracts';
import type { RefusedWrite, RrsetKey, RrsetOwner, RrsetScope, ZoneRecord } from '@corral/dns-data';
import { DnsError, notFound } from '../dns-error.js';
import type { Services } from '../services.js';

/** What a caller sees of a zone. */
export function visibleTo(caller: DnsCaller, zone: ZoneRecord): RrsetScope {
  return { zoneId: zone.id, ownerLabel: caller.ownerLabel, root: coveredRoot(caller) };
}

/** Whose quota a write of the caller counts against. */
export function ownerOf({ kind, ownerId, teamId }: DnsCaller): RrsetOwner {
  return { kind, id: ownerId, teamId };
}

/**
 * The set that a read names. Reads include every type that the zone has at the team's names.
 *
 * @throws DnsError `not_found` for a malformed or foreign name, as for an absent set
 */
export function readableRrset(caller: DnsCaller, zone: ZoneRecord, name: string, type: string): RrsetKey {
  if (!canRead(caller, { zoneName: zone.name, name, type })) throw notFound('record set');
  return { zoneId: zone.id, name, type };
}

/**
 * The set that a write names.
 *
 * @throws DnsError `forbidden` for the apex, a malformed or foreign name, or a type that the caller may not write.
 *   Independent of whether the name exists.
 */
export function writableRrset(caller: DnsCaller, zone: ZoneRecord, name: string, type: string): RrsetKey {
  const refusal = writeRefusal(caller, { zoneName: zone.name, name, type });
  if (refusal !== null) throw new DnsError('forbidden', refusal);
  return { zoneId: zone.id, name, type };
}

/** Whether the caller's token covers the set of an action. Other actions look absent. */
export function mayFollow(
  caller: DnsCaller,
  { name, type }: { readonly name: string; readonly type: string },
): boolean {
  return coversName(caller, name) && coversType(caller, type);
}

/** A write as requested. Its name and type may be invalid. */
export interface AskedWrite extends Pick<RefusedWrite, 'key' | 'operation'> {
  readonly caller: DnsCaller;
  readonly requestId: string;
}

/**
 * Counts a write that is refused before it is sent in the audit log, and rethrows its error. A write that cannot be counted is refused
 * regardless.
 *
 * @throws always the given error. Only a DnsError is counted
 */
export async function noteRefused(services: Services, asked: AskedWrite, error: unknown): Promise<never> {
  const { caller, key, operation, requestId } = asked;
  if (error instanceof DnsError) {
    const refusal = { owner: ownerOf(caller), tokenId: caller.tokenId, key, operation, code: error.code, requestId };
    await services.refused.count(refusal).catch((error) => services.log.warn('refused write not counted', { error }));
  }
  throw error;
}
