import { dnsLimits } from './limits.js';

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
export function isEncodedLabel(label: string): boolean {
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
