import { isWritableType, type ParsedZoneFile, type Rrset } from '@corral/contracts';
import { keyOf, type WantedSet } from './plan.js';

/** What a zone file asks for. It says nothing about labels, so those of existing sets stay. */
export const setsOfZoneFile = ({ rrsets }: ParsedZoneFile): WantedSet[] =>
  rrsets.map(({ name, type, ttl, records }) => ({
    name,
    type,
    content: { ttl, records: records.map(({ value, comment }) => ({ value, comment })) },
    source: `line ${records[0]?.line}`,
  }));

/** The removal of sets that the file does not have. Sets of types that the API does not write stay. */
export function setsMissingIn(parsed: ParsedZoneFile, rrsets: readonly Rrset[]): WantedSet[] {
  const named = new Set(parsed.rrsets.map(keyOf));
  return rrsets
    .filter((rrset) => isWritableType(rrset.type) && !named.has(keyOf(rrset)))
    .map(({ name, type }) => ({ name, type, content: null }));
}
