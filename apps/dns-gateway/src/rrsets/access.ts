import type { DnsCaller } from '@corral/auth';
import { canRead, coveredRoot, coversName, coversType, writeRefusal } from '@corral/contracts';
import type { RrsetKey, RrsetOwner, RrsetScope, ZoneRecord } from '@corral/dns-data';
import { DnsError, notFound } from '../dns-error.js';

/** What a caller sees of a zone. */
export function scopeOf(caller: DnsCaller, zone: ZoneRecord): RrsetScope {
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

/** The clients that wait for the answer of one write, i.e. one request sent several times. */
export interface Audience {
  /** Aborted when all clients have disconnected. */
  readonly gone: AbortSignal;
  join(gone: AbortSignal): void;
}

/** @param first aborted when the first client disconnects */
export function audienceOf(first: AbortSignal): Audience {
  const all = new AbortController();
  let here = 0;
  const join = (gone: AbortSignal): void => {
    here += 1;
    const leave = () => {
      here -= 1;
      if (here === 0) all.abort(gone.reason);
    };
    if (gone.aborted) leave();
    else gone.addEventListener('abort', leave, { once: true });
  };
  join(first);
  return { gone: all.signal, join };
}
