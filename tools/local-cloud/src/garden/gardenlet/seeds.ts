/** The seeds of the garden: two per group of regions, so that a control plane can migrate. */
const seeds = [
  { name: 'seed-eu', regions: ['fsn1', 'nbg1', 'hel1'] },
  { name: 'seed-us', regions: ['ash', 'hil'] },
  { name: 'seed-ap', regions: ['sin'] },
];

/** The seed for a region. */
export const seedFor = (region: string): string =>
  seeds.find(({ regions }) => regions.includes(region))?.name ?? 'seed-eu';

/** The other seed for the same regions. */
export const otherSeed = (name: string): string => (name.endsWith('-2') ? name.slice(0, -2) : `${name}-2`);
