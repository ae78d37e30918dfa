import Table from 'cli-table3';

/** The columns of a table: title, and the text for a row. Several lines are several values. */
export type Columns<T> = Readonly<Record<string, (row: T) => string | number | null | undefined>>;

const frameless = Object.fromEntries(
  [
    ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
    ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'],
  ].map((name) => [name, '']),
);

/** Renders rows under titles. Empty cells show as `-`. */
export function renderTable<T>(rows: readonly T[], columns: Columns<T>): string {
  const table = new Table({
    head: Object.keys(columns),
    chars: frameless,
    style: { 'padding-left': 0, 'padding-right': 2, head: [], border: [], compact: true },
  });
  for (const row of rows) table.push(Object.values(columns).map((cell) => cellText(cell(row))));
  return `${table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`;
}

const cellText = (value: string | number | null | undefined): string =>
  value === null || value === undefined || value === '' ? '-' : printable(String(value));

/** Values of others cannot move the cursor or colour the terminal. Line breaks stay. */
export const printable = (text: string): string => text.replace(/[^\P{C}\n]/gu, '?');

/** Renders names and values, without those that are absent. */
export function renderFacts(facts: readonly (readonly [string, string | number | null | undefined])[]): string {
  const present = facts.filter(([, value]) => value !== null && value !== undefined && value !== '');
  const width = Math.max(0, ...present.map(([name]) => name.length)) + 2;
  return present.map(([name, value]) => `${name.padEnd(width)}${printable(String(value))}\n`).join('');
}
