import { createHash } from 'node:crypto';
import type { Sighting } from './due-store.js';

/** The Shoots of a complete list. */
export interface ListedShoots {
  readonly pages: readonly (readonly Sighting[])[];
  readonly names: ReadonlySet<string>;
  /** As `DueStore.agreesWith` computes it of the rows. */
  readonly digest: string;
}

/** Digests all Shoots of a list, unless it has the same pages as the last one. */
export function listedShoots(pages: ListedShoots['pages'], last: ListedShoots | null): ListedShoots {
  if (last?.pages.length === pages.length && pages.every((page, at) => page === last.pages[at])) return last;
  const sightings = pages.flat();
  return { pages, names: new Set(sightings.map(({ shootName }) => shootName)), digest: digestOf(sightings) };
}

/** Of namespaces, names and hashes, by name. */
export function digestOf(sightings: readonly Sighting[]): string {
  const texts = sightings
    .toSorted((one, other) => (one.shootName < other.shootName ? -1 : 1))
    .map(({ namespace, shootName, hash }) => `${namespace}/${shootName} ${hash}`);
  return createHash('sha256').update(texts.join()).digest('hex');
}
