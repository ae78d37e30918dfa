import { dnsLimits } from './limits.js';

/** A record-set name in canonical form, relative to its zone. */
export interface RrsetName {
  /** As written: nothing is folded or rewritten, because clients compare text. */
  readonly text: string;
  /** The last label: whoever owns it owns the name. */
  readonly ownerLabel: string;
}

const labelPattern = /^[a-z0-9_-]+$/;
const slugPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Reads a record-set name: lower-case labels of 1 to 63 letters, digits, hyphens and underscores, `*` only as the
 * whole first label, at most 253 characters with the zone, no final dot, and not ending in the zone's own name.
 *
 * @returns null for anything else, the apex (`@`) included: no team owns it.
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

/** The last label of any name an upstream may hold, `@` for the apex: the key by which mirrored sets find their team. */
export function ownerLabelOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/** True when `name` is `suffix` itself or lies below it, on a label boundary: `xapp` is not below `app`. */
export function isAtOrBelow(name: string, suffix: string): boolean {
  return name === suffix || name.endsWith(`.${suffix}`);
}

/**
 * Labels that cannot become a team's: they mean something to the DNS, to mail or to certificate authorities for the
 * zone as a whole, so whoever held them would act for everybody.
 */
export const reservedSlugs: readonly string[] = [
  ...['www', 'mail', 'smtp', 'imap', 'pop', 'pop3', 'mx', 'ftp', 'webmail', 'autoconfig', 'autodiscover', 'mta-sts'],
  ...['ns', 'ns1', 'ns2', 'ns3', 'ns4', 'dns', 'wpad', 'isatap', 'localhost', 'local', 'internal', 'invalid'],
  ...['admin', 'administrator', 'root', 'hostmaster', 'postmaster', 'webmaster', 'abuse', 'security', 'support'],
  ...['api', 'gateway', 'console', 'auth', 'login', 'sso', 'status', 'demo', 'demos', 'upstream'],
];

/**
 * True for a label that browsers may show as another text than it is (RFC 5890 section 2.3.2.1), one that looks like
 * somebody else's name.
 */
export function isEncodedLabel(label: string): boolean {
  return label.startsWith('xn--');
}

/**
 * True for a team's name: 1 to 63 of `a-z0-9-`, no hyphen at either end, not reserved, and as it reads. An underscore
 * cannot be part of it, which keeps service labels such as `_dmarc` and `_acme-challenge` of the zone itself out of reach.
 */
export function isTeamSlug(text: string): boolean {
  return slugPattern.test(text) && !reservedSlugs.includes(text) && !isEncodedLabel(text);
}
