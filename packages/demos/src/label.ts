import { dnsLimits, reservedSlugs } from '@corral/contracts';
import { humanId } from 'human-id';

/**
 * The label that a wished name makes: lower-case letters without marks, digits, and a hyphen for each run of anything
 * else; at most 63 characters, no hyphen at either end.
 *
 * @returns null when nothing is left of the name
 */
export function labelOf(name: string): string | null {
  const words = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '');
  const label = words.slice(0, dnsLimits.labelCharacters).replace(/-$/, '');
  return label === '' ? null : label;
}

/** Labels that mean something for the zone as a whole: no demo gets one, just as no team does. */
export function isReservedLabel(label: string): boolean {
  return reservedSlugs.includes(label);
}

/** False for what no demo can be called. */
export function isLabel(text: string): boolean {
  return labelOf(text) === text;
}

/** A readable label such as `rare-geckos-jam`, one of some millions. It may be taken. */
export function drawLabel(): string {
  return humanId({ separator: '-', capitalize: false });
}
