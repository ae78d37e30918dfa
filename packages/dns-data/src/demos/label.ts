import { dnsLimits, reservedSlugs } from '@corral/contracts';
import { humanId } from 'human-id';

/**
 * Derives a label from a name: lower-case letters without diacritics, digits, and one hyphen for each run of other
 * characters. At most 63 characters, no hyphen at either end.
 *
 * @returns null when the name contains no letter or digit
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

/** Whether the label is reserved for the zone as a whole. Neither teams nor demos get such labels. */
export function isReservedLabel(label: string): boolean {
  return reservedSlugs.includes(label);
}

/** Whether the text is a valid demo label. */
export function isLabel(text: string): boolean {
  return labelOf(text) === text;
}

/** Draws a readable label such as `rare-geckos-jam` out of several million. It may be taken. */
export function drawLabel(): string {
  return humanId({ separator: '-', capitalize: false });
}
