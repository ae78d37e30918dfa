import type { DnsCaller } from '@corral/auth';
import type { ZoneRecord } from '@corral/dns-mirror';
import { DnsError, notFound, tokenUnknown } from '../dns-error.js';

/** The one zone of a caller. A team never meets the demo zone, and a demo never that of the teams. */
export interface Zones {
  of(caller: DnsCaller): ZoneDirectory;
}

/** The one zone, by ID or by name: both spellings lead to the same record, and to the same checks after it. */
export interface ZoneDirectory {
  /** @throws DnsError `not_found` for any other zone, `unavailable` before the first zone sync */
  resolve(reference: string): Promise<ZoneRecord>;
  /** The zone as the upstream last stated it. */
  read(): Promise<ZoneRecord>;
}

/** @param demos null where demos are switched off: then a demo's token is no token */
export function zonesOf(teams: ZoneDirectory, demos: ZoneDirectory | null): Zones {
  return {
    of({ kind }) {
      if (kind === 'team') return teams;
      if (demos === null) throw tokenUnknown();
      return demos;
    },
  };
}

export interface ZoneDirectoryDeps {
  readonly zoneName: string;
  readonly find: (name: string) => Promise<ZoneRecord | null>;
}

export function zoneDirectory({ zoneName, find }: ZoneDirectoryDeps): ZoneDirectory {
  // ID and name of a zone never change, so requests for record sets need not look them up again.
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

  return {
    read,
    async resolve(reference) {
      const zone = known ?? (await read());
      // Zone names always contain a dot: digits alone are an ID.
      if (reference !== zone.name && reference !== String(zone.id)) throw notFound('zone');
      return zone;
    },
  };
}
