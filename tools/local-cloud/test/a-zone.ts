import type { Rrset } from '../src/dns/model.js';
import { RrsetTable } from '../src/dns/rrset-table.js';
import type { ServedZone } from '../src/name-server/resolve.js';

/** For tests: the zone `example.net` with these sets, written as `name TYPE`, beside its SOA and NS. */
export function aZone(sets: Readonly<Record<string, readonly string[]>>): ServedZone {
  const table = new RrsetTable();
  const all = {
    '@ SOA': ['ns1.example. dns.example. 2026010100 86400 10800 3600000 300'],
    '@ NS': ['ns1.example.', 'ns2'],
    ...sets,
  };
  for (const [id, values] of Object.entries(all)) {
    const [name = '', type = ''] = id.split(' ');
    const rrset: Rrset = {
      name,
      type,
      ttl: null,
      labels: {},
      protection: { change: false },
      records: values.map((value) => ({ value, comment: '' })),
    };
    table.replace(name, type, rrset);
  }
  return { name: 'example.net', ttl: 3600, table };
}

export const onlyZone = (zone: ServedZone) => (name: string) => (name === zone.name ? zone : null);
