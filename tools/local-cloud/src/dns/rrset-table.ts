import type { Rrset } from './model.js';
import { parentName } from './names.js';

export const rrsetId = (name: string, type: string): string => `${name}/${type}`;

/**
 * The sets of one zone, with the indexes that keep every look-up and every write independent of the zone's size:
 * by identity, by name, and the number of names at or below each name (for empty non-terminals).
 */
export class RrsetTable {
  readonly #byId = new Map<string, Rrset>();
  readonly #byName = new Map<string, Map<string, Rrset>>();
  readonly #namesAtOrBelow = new Map<string, number>();
  #recordCount = 0;
  #sortedIds: readonly string[] | null = null;
  #sorted: readonly Rrset[] | null = null;

  get recordCount(): number {
    return this.#recordCount;
  }

  get(name: string, type: string): Rrset | null {
    return this.#byId.get(rrsetId(name, type)) ?? null;
  }

  /** The sets at a name, by type. */
  at(name: string): ReadonlyMap<string, Rrset> {
    return this.#byName.get(name) ?? new Map();
  }

  typesAt(name: string): readonly string[] {
    return [...this.at(name).keys()];
  }

  /** Whether the name exists in the sense of RFC 4592: it or a name below it has a set. */
  exists(name: string): boolean {
    return name === '@' || this.#namesAtOrBelow.has(name);
  }

  /** All sets by id, ascending: cached until a set changes, and the order until one is added or removed. */
  sorted(): readonly Rrset[] {
    this.#sortedIds ??= [...this.#byId.keys()].sort();
    this.#sorted ??= this.#sortedIds.flatMap((id) => this.#byId.get(id) ?? []);
    return this.#sorted;
  }

  /** Stores the set at its name and type, or removes it if `next` is null. */
  replace(name: string, type: string, next: Rrset | null): void {
    const id = rrsetId(name, type);
    this.#sorted = null;
    this.#recordCount += (next?.records.length ?? 0) - (this.#byId.get(id)?.records.length ?? 0);
    if (this.#byId.has(id) !== (next !== null)) this.#sortedIds = null;
    const types = this.#byName.get(name);
    if (next !== null) {
      this.#byId.set(id, next);
      if (types !== undefined) types.set(type, next);
      else {
        this.#byName.set(name, new Map([[type, next]]));
        this.#count(name, 1);
      }
      return;
    }
    this.#byId.delete(id);
    if (types?.delete(type) && types.size === 0) {
      this.#byName.delete(name);
      this.#count(name, -1);
    }
  }

  #count(name: string, step: 1 | -1): void {
    for (let at: string | null = name; at !== null; at = parentName(at)) {
      const count = (this.#namesAtOrBelow.get(at) ?? 0) + step;
      if (count === 0) this.#namesAtOrBelow.delete(at);
      else this.#namesAtOrBelow.set(at, count);
    }
  }
}
