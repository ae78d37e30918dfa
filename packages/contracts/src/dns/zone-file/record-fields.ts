import { cutText } from '../../text-rules.js';
import { dnsLimits } from '../limits.js';
import { absoluteName } from '../names.js';
import { splitString } from '../record-values.js';
import type { Token } from './entries.js';

/** Types that are registered and not obsolete (IANA, Domain Name System Parameters), and those that zone files contain. */
const types = new Set(
  `A AAAA AFSDB APL CAA CDNSKEY CDS CERT CNAME CSYNC DHCID DLV DNAME DNSKEY DS EUI48 EUI64 HINFO HIP HTTPS IPSECKEY KEY KX
   LOC MX NAPTR NS NSEC NSEC3 NSEC3PARAM OPENPGPKEY PTR RP RRSIG SIG SMIMEA SOA SPF SRV SSHFP SVCB TA TLSA TXT URI ZONEMD`.split(
    /\s+/,
  ),
);
const otherClasses = new Set(['CH', 'HS', 'CS', 'ANY']);

export interface RecordFields {
  /** The type in upper case. */
  readonly type: string;
  /** Seconds; null when the line has none. */
  readonly ttl: number | null;
  readonly value: string;
  /** What was read differently from what the line says. */
  readonly note: string | null;
}

/** Reads TTL and class, which are optional and come in any order, then type and value. @returns what is wrong, or the record */
export function readRecord(tokens: readonly Token[], origin: string, zone: string): string | RecordFields {
  let ttl: number | null = null;
  let hasClass = false;
  let at = 0;
  for (; at < tokens.length; at += 1) {
    const { text, isQuoted } = tokens[at] as Token;
    if (isQuoted) break;
    if (!hasClass && text.toUpperCase() === 'IN') hasClass = true;
    else if (otherClasses.has(text.toUpperCase())) return `The class ${text} is not supported. Use IN.`;
    else if (ttl === null && /^\d/.test(text)) {
      ttl = parseTtl(text);
      if (ttl === null) return `${shortened(text)} is not a TTL. Write seconds, or a time such as 1h30m.`;
    } else break;
  }
  const type = tokens[at];
  if (type === undefined) return 'The line has a name but no record.';
  const typeName = type.text.toUpperCase();
  if (type.isQuoted || !(types.has(typeName) || /^TYPE\d{1,5}$/.test(typeName))) {
    return `${shortened(type.text)} is not a record type.`;
  }
  const data = tokens.slice(at + 1);
  if (data.length === 0) return `The ${typeName} record has no value.`;
  if (data[0]?.text === '\\#') return 'Values in the form of RFC 3597 (\\#) are not supported.';
  if (typeName === 'TXT') return { type: typeName, ttl, ...txtValue(data) };
  const hostAt = hostPositions[typeName];
  const values = data.map(({ text, isQuoted }, index) => {
    if (isQuoted) return `"${text}"`;
    return index === hostAt ? hostValue(text, origin, zone) : text;
  });
  return { type: typeName, ttl, value: values.join(' '), note: null };
}

function txtValue(data: readonly Token[]): Pick<RecordFields, 'value' | 'note'> {
  const strings = data.flatMap(({ text }) => splitString(text));
  return {
    value: strings.map((text) => `"${text}"`).join(' '),
    note:
      strings.length === data.length
        ? null
        : 'A string of more than 255 bytes is split: TXT records cannot contain longer ones.',
  };
}

/** Positions of names in the values of a type. */
const hostPositions: Readonly<Record<string, number>> = { CNAME: 0, DNAME: 0, NS: 0, PTR: 0, MX: 1, SRV: 3 };

/** The API reads relative names as relative to the zone, so they change where the file has another origin. */
function hostValue(text: string, origin: string, zone: string): string {
  if (text.endsWith('.') || origin === `${zone}.`) return text;
  const name = absoluteName(text, origin);
  return relativeTo(zone, name) ?? name;
}

const shortened = (text: string): string => cutText(text, 41, '…');

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** Seconds, or BIND's form with units, such as `1h30m`. */
export function parseTtl(text: string): number | null {
  if (!/^(?:\d{1,10}|(?:\d{1,10}[smhdw])+)$/i.test(text) || text.length > 40) return null;
  let seconds = 0;
  for (const [, digits, unit] of text.matchAll(/(\d+)([smhdw]?)/gi)) {
    seconds += Number(digits) * (units[(unit ?? '').toLowerCase()] ?? 1);
  }
  return seconds <= dnsLimits.ttlSecondsMax ? seconds : null;
}

/** @returns null when the absolute name is not in the zone */
export function relativeTo(zone: string, name: string): string | null {
  if (name === `${zone}.`) return '@';
  return name.endsWith(`.${zone}.`) ? name.slice(0, -zone.length - 2) : null;
}
