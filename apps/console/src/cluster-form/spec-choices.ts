import type { CatalogueBody } from '@corral/contracts';
import { moneyRange } from '../ui/money.js';

interface Option {
  readonly value: string;
  readonly label: string;
}

/** A value that the catalogue does not offer stays selected: the API may still accept it for this cluster. */
export const withPresent = (options: readonly Option[], present: string | undefined): Option[] =>
  options.some(({ value }) => value === (present ?? ''))
    ? [...options]
    : [{ value: present ?? '', label: present ?? 'Choose …' }, ...options];

export const firstTypeIn = (catalogue: CatalogueBody | undefined, region: string | undefined): string | undefined =>
  catalogue?.machineTypes.find(({ regions }) => regions.some(({ name }) => name === region))?.name;

/** "cpx31: 4 cores, 8 GB, 13.60 EUR"; the price is that of a month in the region. */
export function typeText(catalogue: CatalogueBody | undefined, name: string, region?: string): string {
  const type = catalogue?.machineTypes.find((each) => each.name === name);
  if (type === undefined) return name;
  const monthly = type.regions.find((each) => each.name === region)?.monthly ?? null;
  const range = { minimum: monthly, maximum: monthly };
  const price = monthly === null ? [] : [moneyRange(range, catalogue?.currency ?? null)];
  return `${name}: ${[`${type.cores ?? '?'} cores`, `${type.memoryGiB ?? '?'} GB`, ...price].join(', ')}`;
}

export function newPool(taken: readonly string[], machineType: string | undefined) {
  let name = 'general';
  for (let number = 2; taken.includes(name); number += 1) name = `pool-${number}`;
  return { name, ...(machineType === undefined ? {} : { machineType }), minimum: 1, maximum: 3 };
}

/** An empty value leaves the image to the catalogue. */
export const imageOptions = (catalogue: CatalogueBody | undefined): Option[] => [
  { value: '', label: 'Default' },
  ...(catalogue?.images ?? []).flatMap(({ name, versions }) =>
    versions.map(({ version, classification }) => ({
      value: `${name} ${version}`,
      label: `${name} ${version}${classification === 'supported' ? '' : `, ${classification}`}`,
    })),
  ),
];
