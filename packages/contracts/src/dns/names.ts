import { dnsLimits } from './limits.js';

/* Names and types of record sets: what is valid, who owns it, and which of them a token covers. */

/** A record-set name in canonical form, relative to its zone. */
export interface RrsetName {
  /** Unchanged, because clients compare the text. */
  readonly text: string;
  /** The last label, whose owner owns the name. */
  readonly ownerLabel: string;
}

const labelPattern = /^[a-z0-9_-]+$/;
/** Slugs of teams and labels of demos: one label of a name. */
export const slugSchema = { type: 'string', maxLength: 63, pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' } as const;
const slugPattern = new RegExp(slugSchema.pattern);

/**
 * Parses a record-set name: lower-case labels of 1 to 63 letters, digits, hyphens and underscores; `*` only as the
 * whole first label; at most 253 characters with the zone; no final dot; not ending in the zone's name.
 *
 * @returns null for anything else, including the apex (`@`), which no team owns
 */
export function parseRrsetName(text: string, zoneName: string): RrsetName | null {
  if (text.length === 0 || text.length + 1 + zoneName.length > dnsLimits.fullNameCharacters) return null;
  if (text === zoneName || text.endsWith(`.${zoneName}`)) return null;
  const labels = text.split('.');
  const wellFormed = labels.every(
    (label, index) =>
      (index === 0 && label === '*') || (label.length <= dnsLimits.labelCharacters && labelPattern.test(label)),
  );
  return wellFormed ? { text, ownerLabel: labels[labels.length - 1] as string } : null;
}

/** A name as people write it, relative to the zone: in lower case, without a final dot and the name of the zone. */
export function relativeName(typed: string, zoneName: string): string {
  const name = typed.trim().toLowerCase().replace(/\.$/, '');
  return name.endsWith(`.${zoneName}`) ? name.slice(0, -zoneName.length - 1) : name;
}

/**
 * A name in a value or a zone file, as DNS means it.
 *
 * @param origin what it is relative to unless it has a final dot, itself with one
 * @returns the name in lower case with a final dot
 */
export function absoluteName(name: string, origin: string): string {
  const lower = name.toLowerCase();
  if (lower === '@') return origin;
  if (lower.endsWith('.')) return lower;
  return origin === '.' ? `${lower}.` : `${lower}.${origin}`;
}

/** The last label of an upstream name, or `@` for the apex. Identifies the owner of mirrored sets. */
export function ownerLabelOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/** Whether `name` is `suffix` or below it, on a label boundary: `xapp` is not below `app`. */
export function isAtOrBelow(name: string, suffix: string): boolean {
  return name === suffix || name.endsWith(`.${suffix}`);
}

/**
 * Labels that teams cannot have: they have a meaning for the whole zone in DNS, mail or certificate issuance, so their
 * owner would act for everybody.
 */
export const reservedSlugs: readonly string[] = [
  'www',
  'mail',
  'smtp',
  'imap',
  'pop',
  'pop3',
  'mx',
  'ftp',
  'webmail',
  'autoconfig',
  'autodiscover',
  'mta-sts',
  'ns',
  'ns1',
  'ns2',
  'ns3',
  'ns4',
  'dns',
  'wpad',
  'isatap',
  'localhost',
  'local',
  'internal',
  'invalid',
  'admin',
  'administrator',
  'root',
  'hostmaster',
  'postmaster',
  'webmaster',
  'abuse',
  'security',
  'support',
  'api',
  'gateway',
  'console',
  'auth',
  'login',
  'sso',
  'status',
  'demo',
  'demos',
  'upstream',
];

/**
 * Whether browsers may display the label as different text (RFC 5890 section 2.3.2.1), for example as a look-alike of
 * another name.
 */
function isEncodedLabel(label: string): boolean {
  return label.startsWith('xn--');
}

/**
 * Whether the text is a valid team slug: 1 to 63 of `a-z0-9-`, no hyphen at either end, not reserved, not punycode.
 * Underscores are excluded, so that service labels of the zone such as `_dmarc` and `_acme-challenge` stay out of
 * reach.
 */
export function isTeamSlug(text: string): boolean {
  return slugPattern.test(text) && !reservedSlugs.includes(text) && !isEncodedLabel(text);
}

/** The record types that teams may write. Reads return all types at the team's names. */
export const writableTypes = ['A', 'AAAA', 'CNAME', 'TXT'] as const;
export type WritableType = (typeof writableTypes)[number];

export function isWritableType(type: string): type is WritableType {
  return (writableTypes as readonly string[]).includes(type);
}

/** The record sets that a DNS token covers: those of its owner, unless it is narrowed. */
export interface TokenCoverage {
  /** The team's slug or the demo's label: the last label of its names. */
  readonly ownerLabel: string;
  /** Narrows reads and writes to this name and below; null for all names of the owner. */
  readonly withinName: string | null;
  /** Narrows writes to these types; empty for every type the API writes. */
  readonly withinTypes: readonly string[];
}

/** The name at and below which the token can read and write. */
export function coveredRoot({ withinName, ownerLabel }: TokenCoverage): string {
  return withinName ?? ownerLabel;
}

/** Whether the token covers a name. Names that it does not cover look absent. */
export function coversName(coverage: TokenCoverage, name: string): boolean {
  return isAtOrBelow(name, coveredRoot(coverage)) && isAtOrBelow(name, coverage.ownerLabel);
}

/** Whether the token may write a record type. Which types the API writes at all is checked elsewhere. */
export function coversType({ withinTypes }: TokenCoverage, type: string): boolean {
  return withinTypes.length === 0 || withinTypes.includes(type);
}

/** Whether a token of the team can be narrowed to the name. */
export function canNarrowTo(name: string, teamSlug: string): boolean {
  return isAtOrBelow(name, teamSlug) && parseRrsetName(name, '') !== null;
}

/** A record set, by its name relative to the zone. */
export interface NamedRrset {
  readonly zoneName: string;
  readonly name: string;
  readonly type: string;
}

/**
 * Whether the token can read the record set, if it exists: any type, since reads include every type that the zone has at
 * the covered names.
 */
export function canRead(coverage: TokenCoverage, { zoneName, name, type }: NamedRrset): boolean {
  return parseRrsetName(name, zoneName) !== null && coversName(coverage, name) && /^[A-Z0-9]{1,16}$/.test(type);
}

/**
 * Why the token may not write the record set; null if it may. Independent of whether the set exists.
 */
export function writeRefusal(coverage: TokenCoverage, { zoneName, name, type }: NamedRrset): string | null {
  const { ownerLabel, withinTypes } = coverage;
  if (parseRrsetName(name, zoneName) === null) {
    return `The name is not valid. Use ${ownerLabel} or a name below it, relative to the zone and without a trailing dot. Labels have lower-case letters, digits, hyphens and underscores.`;
  }
  if (!isAtOrBelow(name, ownerLabel)) {
    return `The name does not belong to you. You can write ${ownerLabel} and names below it.`;
  }
  if (!coversName(coverage, name)) {
    return `This token can write only ${coveredRoot(coverage)} and names below it.`;
  }
  if (!isWritableType(type)) {
    return `Records of this type cannot be written. Use one of ${writableTypes.join(', ')}.`;
  }
  if (!coversType(coverage, type)) return `This token can write only the types ${withinTypes.join(', ')}.`;
  return null;
}
