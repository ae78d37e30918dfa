import { failureToleranceOf, type ShootSpec } from '../kinds/shoot/shoot.js';

interface Seed {
  readonly name: string;
  readonly regions: readonly string[];
  readonly zones: number;
}

const places = [
  { name: 'seed-eu', regions: ['fsn1', 'nbg1', 'hel1'], zones: 3 },
  { name: 'seed-us', regions: ['ash', 'hil'], zones: 1 },
  { name: 'seed-ap', regions: ['sin'], zones: 1 },
];

/** The seeds of the garden: two per part of the world, so that a control plane can move. Only Europe has three zones. */
const seeds: readonly Seed[] = places.flatMap((seed) => [seed, { ...seed, name: `${seed.name}-2` }]);

/** @returns null for a seed that the garden does not have */
export const zonesOfSeed = (name: string): number | null => seeds.find((seed) => seed.name === name)?.zones ?? null;

/** @throws Error in the scheduler's words when no seed fits */
export function seedFor(spec: ShootSpec): string {
  const near = seeds.filter(({ regions }) => regions.includes(spec.region));
  const [seed] = near.filter(({ zones }) => failureToleranceOf(spec) !== 'zone' || zones >= 3);
  if (seed !== undefined) return seed.name;
  throw new Error(
    near.length === 0
      ? `none out of the ${seeds.length} seeds has a matching region for the shoot (${spec.region})`
      : `none of the ${near.length} seeds has at least 3 zones for hosting a shoot control plane with failure tolerance type 'zone'`,
  );
}

/** The other seed of the same part of the world. */
export const otherSeed = (name: string): string => (name.endsWith('-2') ? name.slice(0, -2) : `${name}-2`);
