import type { UpstreamRrset } from '../../system/local-cloud.js';

/** A record set that a client is told to keep. Names are relative to the zone, values as the upstream has them: texts are quoted. */
export interface WantedSet {
  readonly name: string;
  readonly type: 'A' | 'AAAA' | 'CNAME' | 'TXT';
  readonly ttl: number;
  readonly values: readonly string[];
}

/** The states that a story leads a team through. The last one is empty. */
export interface WantedStates {
  readonly created: readonly WantedSet[];
  readonly changed: readonly WantedSet[];
}

/**
 * Declares every kind of change: new sets, another value, another TTL, one value more, one value less, and sets that are no
 * longer wanted.
 *
 * @param zone the name of the zone, which aliases need
 * @param many the number of further sets. A third of them changes, another third is no longer wanted
 */
export function wantedStates(team: string, { zone, many }: { zone: string; many: number }): WantedStates {
  const set = (name: string, type: WantedSet['type'], ttl: number, ...values: string[]): WantedSet => ({
    name: `${name}.${team}`,
    type,
    ttl,
    values,
  });
  const further = (value: (at: number) => string, keeps: (at: number) => boolean): WantedSet[] =>
    Array.from({ length: many }, (_, at) => at)
      .filter(keeps)
      .map((at) => set(`n${String(at).padStart(3, '0')}`, 'A', 300, value(at)));
  const address = (at: number): string => `198.51.100.${at % 250}`;
  return {
    created: [
      set('www', 'A', 300, '192.0.2.1'),
      set('api', 'A', 300, '192.0.2.2', '192.0.2.3'),
      set('text', 'TXT', 300, '"one text"'),
      set('alias', 'CNAME', 300, `www.${team}.${zone}.`),
      set('*.apps', 'A', 300, '192.0.2.4'),
      set('old', 'AAAA', 300, '2001:db8::1'),
      ...further(address, () => true),
    ],
    changed: [
      set('www', 'A', 600, '192.0.2.9', '192.0.2.10'),
      set('api', 'A', 300, '192.0.2.3'),
      set('text', 'TXT', 600, '"one text"'),
      set('alias', 'CNAME', 300, `api.${team}.${zone}.`),
      set('*.apps', 'A', 300, '192.0.2.5'),
      set('new', 'AAAA', 300, '2001:db8::2'),
      ...further(
        (at) => (at % 3 === 0 ? `203.0.113.${at % 250}` : address(at)),
        (at) => at % 3 !== 1,
      ),
    ],
  };
}

/** Names that have the address of one machine, which changes. */
export function wantedAddresses(team: string): WantedStates {
  const sets = (ipv4: string, ipv6: string): WantedSet[] => [
    { name: `home.${team}`, type: 'A', ttl: 300, values: [ipv4] },
    { name: `home.${team}`, type: 'AAAA', ttl: 300, values: [ipv6] },
    { name: `files.home.${team}`, type: 'A', ttl: 600, values: [ipv4] },
    { name: team, type: 'A', ttl: 600, values: [ipv4] },
  ];
  return { created: sets('198.51.100.1', '2001:db8::1'), changed: sets('203.0.113.2', '2001:db8::2') };
}

export const countRecords = (sets: readonly WantedSet[]): number =>
  sets.reduce((sum, { values }) => sum + values.length, 0);

/** Makes accounts of the same sets comparable: their order, and the order of values, means nothing. */
export const sorted = (sets: readonly WantedSet[]): WantedSet[] =>
  sets
    .map(({ name, type, ttl, values }) => ({ name, type, ttl, values: [...values].sort() }))
    .sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));

const keyOf = ({ name, type }: WantedSet): string => `${name}/${type}`;

/** @param text a set as the upstream states it */
export function statedSet(text: string): WantedSet {
  const { name, type, ttl, records } = JSON.parse(text) as UpstreamRrset;
  return { name, type: type as WantedSet['type'], ttl: ttl ?? 0, values: records.map(({ value }) => value) };
}
