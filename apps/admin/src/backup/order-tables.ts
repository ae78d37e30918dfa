/** A foreign key: rows of `from` refer to rows of `to`. */
export interface Reference {
  readonly from: string;
  readonly to: string;
}

/**
 * Orders tables so that each follows those that it refers to, and alphabetically otherwise. References of a table to itself, or
 * to other tables than these, do not count.
 *
 * @throws Error when tables refer to each other in a circle
 */
export function orderTables(tables: readonly string[], references: readonly Reference[]): string[] {
  const left = new Set([...tables].sort());
  const ordered: string[] = [];
  const isFree = (table: string): boolean =>
    !references.some(({ from, to }) => from === table && to !== table && left.has(to));
  while (left.size > 0) {
    const free = [...left].filter(isFree);
    if (free.length === 0) throw new Error(`The tables ${[...left].join(', ')} refer to each other in a circle.`);
    for (const table of free) left.delete(table);
    ordered.push(...free);
  }
  return ordered;
}
