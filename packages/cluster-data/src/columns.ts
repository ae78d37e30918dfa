/**
 * Columns of a table or of a group, by their names in our rows. The names are Prisma's, so a row has one type, whether Prisma
 * or `pg` reads it.
 */
export type Columns<Row> = Readonly<Record<keyof Row & string, string>>;

/**
 * Columns for a SELECT or RETURNING.
 *
 * @param table name or alias of the table in the statement; a constant, never a value
 */
export function selectOf(table: string, columns: Readonly<Record<string, string>>): string {
  return Object.entries(columns)
    .map(([name, column]) => `${table}.${column} AS "${name}"`)
    .join(', ');
}

/**
 * The same as one JSON object, for rows that are part of another row. Times in it are texts.
 *
 * @param more additional members: expressions by name
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

/** The same for Prisma's `select`. */
export function prismaSelect<Name extends string>(
  columns: Readonly<Record<Name, string>>,
): { readonly [N in Name]: true } {
  return Object.fromEntries(Object.keys(columns).map((name) => [name, true])) as { [N in Name]: true };
}
