import type { DnsCaller } from '@corral/auth';
import type { RrsetScope, ZoneRecord } from '@corral/dns-data';
import { DnsError, notFound, tokenUnknown } from '../dns-error.js';

/** The zone of a caller. Teams never see the demo zone, and demos never the zone of the teams. */
export interface Zones {
  of(caller: DnsCaller): ZoneDirectory;
}

/** One zone, found by id or name. Both lead to the same record and the same checks. */
export interface ZoneDirectory {
  /** @throws DnsError `not_found` for any other zone, `unavailable` before the first zone sync */
  resolve(reference: string): Promise<ZoneRecord>;
  /** The zone, with a body that may be old. @throws DnsError `unavailable` before the first zone sync */
  identify(): Promise<ZoneRecord>;
  /** The zone as last reported by the upstream. */
  read(): Promise<ZoneRecord>;
}

/** @param demos null when demos are switched off. A demo's token is then unknown */
export function zonesOf(teams: ZoneDirectory, demos: ZoneDirectory | null): Zones {
  return {
    of({ kind }) {
      if (kind === 'team') return teams;
      if (demos === null) throw tokenUnknown();
      return demos;
    },
  };
}

/** What a caller sees of its zone. */
export function visibleTo({ ownerLabel, withinName }: DnsCaller, zone: ZoneRecord): RrsetScope {
  return { zoneId: zone.id, ownerLabel, withinName };
}

export interface ZoneDirectoryDeps {
  readonly zoneName: string;
  readonly find: (name: string) => Promise<ZoneRecord | null>;
}

export function zoneDirectory({ zoneName, find }: ZoneDirectoryDeps): ZoneDirectory {
  // Id and name of a zone never change, so requests for record sets need not look them up again.
  let known: ZoneRecord | null = null;

  const read = async (): Promise<ZoneRecord> => {
    const zone = await find(zoneName);
    if (zone === null) {
      throw new DnsError('unavailable', 'The zone has not been read from the upstream yet. Try again in a moment.', {
        retryAfterSeconds: 5,
      });
    }
    known = zone;
    return zone;
  };

  const identify = async (): Promise<ZoneRecord> => known ?? (await read());

  return {
    read,
    identify,
    async resolve(reference) {
      const zone = await identify();
      // Zone names always contain a dot, so digits alone are an id.
      if (reference !== zone.name && reference !== String(zone.id)) throw notFound('zone');
      return zone;
    },
  };
}
