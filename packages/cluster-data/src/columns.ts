/**
 * The columns of a table, or a group of them, by the names that our rows have for them. The same names are Prisma's, so a
 * row has one type, whichever of Prisma and `pg` reads it.
 */
export type Columns<Row> = Readonly<Record<keyof Row & string, string>>;

/**
 * Columns for a SELECT or RETURNING, each by its name: never `*`, as a statement with that is not prepared.
 *
 * @param table the table's name or its alias in the statement; ours, never a value
 */
export function selectOf(table: string, columns: Readonly<Record<string, string>>): string {
  return Object.entries(columns)
    .map(([name, column]) => `${table}.${column} AS "${name}"`)
    .join(', ');
}

/**
 * The same as one JSON object, for rows that are part of another row. Times in it are texts.
 *
 * @param more other members: expressions by their names
 */
export function jsonOf(
  table: string,
  columns: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>> = {},
): string {
  const members = [
    ...Object.entries(columns).map(([name, column]) => `'${name}', ${table}.${column}`),
    ...Object.entries(more).map(([name, expression]) => `'${name}', ${expression}`),
  ];
  return `json_build_object(${members.join(', ')})`;
}

/** The same for a `select` of Prisma. */
export function prismaSelect<Name extends string>(
  columns: Readonly<Record<Name, string>>,
): { readonly [N in Name]: true } {
  return Object.fromEntries(Object.keys(columns).map((name) => [name, true])) as { [N in Name]: true };
}
