import type { Cli } from '../cli.js';
import { type Columns, renderTable } from './table.js';

/** Prints a list: as data, as a table, or a sentence where it is empty. @param what in the plural, such as `clusters` */
export function showList<T>(cli: Cli, items: readonly T[], what: string, columns: Columns<T>): void {
  cli.result(items, () => (items.length === 0 ? `There are no ${what}.\n` : renderTable(items, columns)));
}
