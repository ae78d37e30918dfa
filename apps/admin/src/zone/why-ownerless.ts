import { isAtOrBelow, isTeamSlug, ownerLabelOf, reservedSlugs } from '@corral/contracts';

/** Why a record set belongs to nobody. */
export type WhyOwnerless = 'apex' | 'demo zone' | 'reserved' | 'no team name' | 'no team yet';

/**
 * Tells why no team owns a name.
 *
 * @param name relative to the zone
 * @param demoZoneName null where there is none
 */
export function whyOwnerless(name: string, zoneName: string, demoZoneName: string | null): WhyOwnerless {
  if (name === '@') return 'apex';
  if (demoZoneName !== null && isAtOrBelow(`${name}.${zoneName}`, demoZoneName)) return 'demo zone';
  const label = ownerLabelOf(name);
  if (reservedSlugs.includes(label)) return 'reserved';
  return isTeamSlug(label) ? 'no team yet' : 'no team name';
}
