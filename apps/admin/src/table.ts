/** The columns of a table: title, and text for a row. */
export type Columns<T> = Readonly<Record<string, (row: T) => string | number | null>>;

const GAP = '  ';

/**
 * Renders rows under titles. Empty cells show as `-`, so that columns can be counted; control characters show as `?`,
 * so that values cannot manipulate the terminal.
 */
export function renderTable<T>(rows: readonly T[], columns: Columns<T>): string {
  const titles = Object.keys(columns);
  const cells = rows.map((row) => Object.values(columns).map((cell) => printable(cell(row))));
  const widths = titles.map((title, index) => Math.max(title.length, ...cells.map((line) => line[index]?.length ?? 0)));
  const renderLine = (line: readonly string[]): string =>
    line
      .map((text, index) => text.padEnd(widths[index] as number))
      .join(GAP)
      .trimEnd();
  return `${[titles, ...cells].map(renderLine).join('\n')}\n`;
}

function printable(value: string | number | null): string {
  return value === null || value === '' ? '-' : String(value).replace(/\p{Cc}/gu, '?');
}
