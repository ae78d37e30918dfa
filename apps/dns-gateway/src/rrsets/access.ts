import { callerRoot, type DnsCaller, maySee, mayWriteType } from '@corral/auth';
import { isAtOrBelow, isWritableType, parseRrsetName, writableTypes } from '@corral/contracts';
import type { RrsetKey, RrsetOwner, RrsetScope, ZoneRecord } from '@corral/dns-data';
import { DnsError, notFound } from '../dns-error.js';

/** What a caller sees of a zone. */
export function scopeOf(caller: DnsCaller, zone: ZoneRecord): RrsetScope {
  return { zoneId: zone.id, ownerLabel: caller.ownerLabel, root: callerRoot(caller) };
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
  if (parseRrsetName(name, zone.name) === null || !maySee(caller, name) || !/^[A-Z0-9]{1,16}$/.test(type)) {
    throw notFound('record set');
  }
  return { zoneId: zone.id, name, type };
}

/**
 * The set that a write names.
 *
 * @throws DnsError `forbidden` for the apex, a malformed or foreign name, or a type that the caller may not write.
 *   Independent of whether the name exists.
 */
export function writableRrset(caller: DnsCaller, zone: ZoneRecord, name: string, type: string): RrsetKey {
  if (parseRrsetName(name, zone.name) === null) {
    throw new DnsError(
      'forbidden',
      `The name is not valid. Use ${caller.ownerLabel} or a name below it, relative to the zone and without a trailing dot. Labels have lower-case letters, digits, hyphens and underscores.`,
    );
  }
  if (!isAtOrBelow(name, caller.ownerLabel)) {
    throw new DnsError(
      'forbidden',
      `The name does not belong to you. You can write ${caller.ownerLabel} and names below it.`,
    );
  }
  if (!maySee(caller, name)) {
    throw new DnsError('forbidden', `This token can write only ${callerRoot(caller)} and names below it.`);
  }
  if (!isWritableType(type)) {
    throw new DnsError('forbidden', `Records of this type cannot be written. Use one of ${writableTypes.join(', ')}.`);
  }
  if (!mayWriteType(caller, type)) {
    throw new DnsError('forbidden', `This token can write only the types ${caller.withinTypes.join(', ')}.`);
  }
  return { zoneId: zone.id, name, type };
}

/** Whether the caller's token covers the set of an action. Other actions look absent. */
export function mayFollow(
  caller: DnsCaller,
  { name, type }: { readonly name: string; readonly type: string },
): boolean {
  return maySee(caller, name) && mayWriteType(caller, type);
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
    const leave = (): void => {
      here -= 1;
      if (here === 0) all.abort();
    };
    here += 1;
    if (gone.aborted) leave();
    else gone.addEventListener('abort', leave, { once: true });
  };
  join(first);
  return { gone: all.signal, join };
}
