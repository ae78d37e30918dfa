import type { Shoot } from '@corral/garden';
import { LRUCache } from 'lru-cache';

interface ShootPlace {
  readonly namespace: string;
  readonly name: string;
}

/** The Shoots that the watch has reported last. None of them is later than the garden's, and each may be older. */
export interface ReportedShoots {
  note(shoot: Shoot): void;
  forget(place: ShootPlace): void;
  /** Forgets those whose name is not in the set. */
  keepOnly(names: ReadonlySet<string>): void;
  clear(): void;
  find(place: ShootPlace): Shoot | null;
  /** The state of a Shoot that was compared with its row last: most events during a run are progress only, and need no statement. */
  findCompared(place: ShootPlace): string | null;
  noteCompared(place: ShootPlace, hash: string): void;
  /** A list may show what no event did. */
  clearCompared(): void;
}

/** Some 10 KB each. */
const SHOOTS_MAX = 500;
/** About 200 bytes each. More than change at the same time. */
const COMPARED_MAX = 2_000;

export function reportedShoots(): ReportedShoots {
  const shoots = new LRUCache<string, Shoot>({ max: SHOOTS_MAX });
  const compared = new LRUCache<string, string>({ max: COMPARED_MAX });
  const keyOf = ({ namespace, name }: ShootPlace): string => `${namespace}/${name}`;
  return {
    note: (shoot) => void shoots.set(keyOf(shoot.metadata), shoot),
    forget: (place) => void shoots.delete(keyOf(place)),
    keepOnly(names) {
      for (const [key, { metadata }] of [...shoots.entries()]) if (!names.has(metadata.name)) shoots.delete(key);
    },
    clear: () => shoots.clear(),
    find: (place) => shoots.get(keyOf(place)) ?? null,
    findCompared: (place) => compared.get(keyOf(place)) ?? null,
    noteCompared: (place, hash) => void compared.set(keyOf(place), hash),
    clearCompared: () => compared.clear(),
  };
}

/**
 * Whether a resource version is later than another of the same kind of object. Kubernetes compares them as whole numbers
 * (kubernetes.io/docs/reference/using-api/api-concepts, "Resource versions"). False when unknown.
 */
export function isLaterVersion(one: string, other: string | null): boolean {
  if (other === null || !isWhole(one) || !isWhole(other)) return false;
  return one.length === other.length ? one > other : one.length > other.length;
}

const isWhole = (version: string): boolean => /^[1-9]\d*$/.test(version);
