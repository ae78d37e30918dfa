import type { DnsUsageBody, Rrset } from '@corral/contracts';
import type { ExportedZone } from '@corral/domain';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { dnsUsageQuery, rrsetsQuery, zoneQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { Loaded } from '../ui/states.js';

export interface KnownZone {
  readonly zone: ExportedZone;
  readonly records: DnsUsageBody['records'];
  readonly rrsets: readonly Rrset[];
}

/** Shows what needs the zone, the quota and the record sets. */
export function ZoneLoaded({ children }: { readonly children: (known: KnownZone) => ReactNode }) {
  const { slug } = useTeam();
  const zone = useQuery(zoneQuery(slug));
  const usage = useQuery(dnsUsageQuery(slug));
  const rrsets = useQuery(rrsetsQuery(slug));
  return (
    <Loaded query={zone} what="the zone">
      {(known) => (
        <Loaded query={usage} what="the quota">
          {({ records }) => (
            <Loaded query={rrsets} what="record sets">
              {(all) => children({ zone: known, records, rrsets: all })}
            </Loaded>
          )}
        </Loaded>
      )}
    </Loaded>
  );
}
