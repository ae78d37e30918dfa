/** The seeds of the garden: two per group of regions, so that a control plane can migrate. */
const seeds = [
  { name: 'seed-eu', regions: ['fsn1', 'nbg1', 'hel1'] },
  { name: 'seed-us', regions: ['ash', 'hil'] },
  { name: 'seed-ap', regions: ['sin'] },
];

/** @throws Error in the scheduler's words if no seed fits */
export function seedFor(region: string): string {
  const seed = seeds.find(({ regions }) => regions.includes(region));
  if (seed !== undefined) return seed.name;
  throw new Error(`none out of the ${2 * seeds.length} seeds has a matching region for the shoot (${region})`);
}

/** The other seed for the same regions. */
export const otherSeed = (name: string): string => (name.endsWith('-2') ? name.slice(0, -2) : `${name}-2`);
