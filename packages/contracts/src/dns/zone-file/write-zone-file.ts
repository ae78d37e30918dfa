import type { ZoneFileContext } from './parse-zone-file.js';

/** A record set as the DNS API answers it. */
interface WrittenRrset {
  /** Relative to the zone. */
  readonly name: string;
  readonly type: string;
  readonly ttl: number | null;
  readonly records: readonly { readonly value: string; readonly comment?: string | null }[];
}

/**
 * Writes a master file (RFC 1035 section 5). `parseZoneFile` reads the same record sets from it, but without labels, which a
 * zone file cannot contain. Line breaks in comments become spaces.
 */
export function writeZoneFile(rrsets: readonly WrittenRrset[], { zoneName, zoneTtl }: ZoneFileContext): string {
  const width = (lengths: number[]): number => Math.min(40, Math.max(0, ...lengths));
  const nameWidth = width(rrsets.map(({ name }) => name.length));
  const ttlWidth = width(rrsets.map(({ ttl }) => String(ttl ?? '').length));
  const typeWidth = width(rrsets.map(({ type }) => type.length));
  const lines = [`$ORIGIN ${zoneName}.`, `$TTL ${zoneTtl}`];
  for (const { name, type, ttl, records } of rrsets) {
    for (const { value, comment } of records) {
      const columns = [
        name.padEnd(nameWidth),
        String(ttl ?? '').padEnd(ttlWidth),
        'IN',
        type.padEnd(typeWidth),
        comment ? `${value} ; ${comment.replace(/\s+/g, ' ').trim()}` : value,
      ];
      lines.push(columns.join(' ').trimEnd());
    }
  }
  return `${lines.join('\n')}\n`;
}
