import { parentName, type Rrset, rrsetTypes } from './model.js';

export const rrsetId = (name: string, type: string): string => `${name}/${type}`;

/** The sets of one zone. */
export class RrsetTable {
  readonly #byId = new Map<string, Rrset>();
  #sorted: readonly Rrset[] | null = null;

  get recordCount(): number {
    return this.sorted().reduce((sum, { records }) => sum + records.length, 0);
  }

  get(name: string, type: string): Rrset | null {
    return this.#byId.get(rrsetId(name, type)) ?? null;
  }

  /** The sets at a name, by type. */
  at(name: string): ReadonlyMap<string, Rrset> {
    return new Map(
      rrsetTypes.flatMap((type) =>
        this.#byId.has(rrsetId(name, type)) ? [[type, this.get(name, type) as Rrset]] : [],
      ),
    );
  }

  /** Whether the name exists in the sense of RFC 4592: it or a name below it has a set. */
  exists(name: string): boolean {
    if (name === '@' || this.at(name).size > 0) return true;
    return this.sorted().some((rrset) => parentName(rrset.name) !== '@' && rrset.name.endsWith(`.${name}`));
  }

  /** All sets by id, ascending. */
  sorted(): readonly Rrset[] {
    this.#sorted ??= [...this.#byId].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, rrset]) => rrset);
    return this.#sorted;
  }

  /** Stores the set at its name and type, or removes it if `next` is null. */
  replace(name: string, type: string, next: Rrset | null): void {
    if (next === null) this.#byId.delete(rrsetId(name, type));
    else this.#byId.set(rrsetId(name, type), next);
    this.#sorted = null;
  }
}
