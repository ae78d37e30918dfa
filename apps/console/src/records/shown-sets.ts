import type { Rrset } from '@corral/contracts';
import { keyOf, labelTexts } from '@corral/domain';

/** What the address says about the list. */
export interface ListSearch {
  readonly filter?: string;
  readonly type?: string;
  readonly label?: string;
  /** A column; with a minus before it, from its end. */
  readonly sort?: string;
}

const columns = {
  name: keyOf,
  type: ({ type, name }: Rrset) => `${type} ${name}`,
  values: ({ records }: Rrset) => records[0]?.value ?? '',
  ttl: ({ ttl }: Rrset) => String(ttl ?? -1),
  labels: ({ labels }: Rrset) => labelTexts(labels).join(', '),
} as const;
export type SortColumn = keyof typeof columns;

/** @returns the column that the list is sorted by, and whether from its end */
export function sortOf({ sort = '' }: ListSearch): { readonly column: SortColumn; readonly isDescending: boolean } {
  const column = sort.replace(/^-/, '');
  return { column: column in columns ? (column as SortColumn) : 'name', isDescending: sort.startsWith('-') };
}

const textOf = ({ name, type, records, labels }: Rrset): string =>
  [name, type, ...records.flatMap(({ value, comment }) => [value, comment]), ...labelTexts(labels)]
    .join('\n')
    .toLowerCase();
const collator = new Intl.Collator('en', { numeric: true });

/** The record sets that match, and the one with the key `kept`, in the order of the list. */
export function shownSets(rrsets: readonly Rrset[], search: ListSearch, kept: string | null = null): Rrset[] {
  const { filter = '', type = '', label = '' } = search;
  const wanted = filter.trim().toLowerCase();
  const { column, isDescending } = sortOf(search);
  const [textFor, direction] = [columns[column], isDescending ? -1 : 1];
  return rrsets
    .filter(
      (rrset) =>
        keyOf(rrset) === kept ||
        ((type === '' || rrset.type === type) &&
          (label === '' || labelTexts(rrset.labels).includes(label)) &&
          (wanted === '' || textOf(rrset).includes(wanted))),
    )
    .sort((one, other) => direction * collator.compare(textFor(one), textFor(other)));
}

/** The items between two of them, with both, in whichever order they stand. */
export function rangeOf<T>(items: readonly T[], one: T, other: T): readonly T[] {
  const places = [items.indexOf(one), items.indexOf(other)].sort((a, b) => a - b) as [number, number];
  return places[0] === -1 ? items.slice(places[1], places[1] + 1) : items.slice(places[0], places[1] + 1);
}

/** The ids with, or without, the changed ones. */
export function withOrWithout(
  ids: ReadonlySet<string>,
  changed: readonly string[],
  isIn: boolean,
): ReadonlySet<string> {
  const next = new Set(ids);
  for (const id of changed) {
    if (isIn) next.add(id);
    else next.delete(id);
  }
  return next;
}
