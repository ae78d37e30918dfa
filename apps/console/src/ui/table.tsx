import type { UseQueryResult } from '@tanstack/react-query';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Empty, Loaded } from './states.js';
import styles from './table.module.css';

interface Column<T> {
  readonly cell: (row: T) => ReactNode;
  /** Makes the column sortable. */
  readonly sortBy?: (row: T) => string | number;
  /** True for numbers. */
  readonly alignEnd?: boolean;
  /** True for texts of any length, which may break within a word. */
  readonly isLong?: boolean;
}

/** Columns by label, in their order. A function alone makes the cells. */
export type ColumnsOf<T> = Readonly<Record<string, Column<T> | Column<T>['cell']>>;

export interface TableProps<T> {
  /** What the rows are, for screen readers. */
  readonly caption: string;
  readonly columns: ColumnsOf<T>;
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  /** The label of a column. */
  readonly initialSort?: string;
  /** True for a few narrow columns, which fit on a phone. Others become lists of fields there. */
  readonly isNarrow?: boolean;
}

interface LoadedTableProps<T> extends Omit<TableProps<T>, 'rows'> {
  readonly query: UseQueryResult<readonly T[]>;
  /** What is loaded, such as `clusters`. */
  readonly what: string;
  /** Said when there are no rows. */
  readonly empty: ReactNode;
}

/** A table of what is loaded. */
export const LoadedTable = <T,>({ query, what, empty, ...table }: LoadedTableProps<T>) => (
  <Loaded query={query} what={what}>
    {(rows) => (rows.length === 0 ? <Empty>{empty}</Empty> : <Table {...table} rows={rows} />)}
  </Loaded>
);

interface Sort {
  readonly label: string;
  readonly isDescending: boolean;
}

/** A plain table: rows as text that the browser can find and select. Long and editable lists have grids of their own. */
export function Table<T>({ caption, columns, rows, rowKey, initialSort, isNarrow }: TableProps<T>) {
  const [sort, setSort] = useState<Sort | null>(
    initialSort === undefined ? null : { label: initialSort, isDescending: false },
  );
  const shown = Object.entries(columns).map(([label, column]) => ({
    label,
    ...(typeof column === 'function' ? { cell: column } : column),
  }));
  const sortBy = shown.find(({ label }) => label === sort?.label)?.sortBy;
  return (
    <div className={styles.scroll}>
      <table className={`${styles.table} ${isNarrow ? styles.narrow : styles.stacks}`}>
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {shown.map((column) => (
              <Heading
                key={column.label}
                {...column}
                sort={sort?.label === column.label ? sort : null}
                onSort={setSort}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {(sortBy === undefined ? rows : sortedRows(rows, sortBy, sort)).map((row) => (
            <tr key={rowKey(row)}>
              {shown.map(({ label, cell, alignEnd, isLong }) => (
                <td
                  key={label}
                  data-label={label}
                  className={alignEnd ? `${styles.end} numeric` : isLong ? styles.long : undefined}
                >
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface HeadingProps<T> extends Pick<Column<T>, 'sortBy' | 'alignEnd'> {
  readonly label: string;
  /** Null: the rows are not sorted by it. */
  readonly sort: Sort | null;
  readonly onSort: (sort: Sort) => void;
}

function Heading<T>({ label, sortBy, alignEnd, sort, onSort }: HeadingProps<T>) {
  const Arrow = sort?.isDescending ? ArrowDown : ArrowUp;
  return (
    <th
      scope="col"
      className={alignEnd ? styles.end : undefined}
      aria-sort={sort === null ? undefined : sort.isDescending ? 'descending' : 'ascending'}
    >
      {sortBy === undefined ? (
        label
      ) : (
        <button
          type="button"
          className={styles.sort}
          onClick={() => onSort({ label, isDescending: sort?.isDescending === false })}
        >
          {label}
          {sort !== null && <Arrow size={12} aria-hidden />}
        </button>
      )}
    </th>
  );
}

function sortedRows<T>(rows: readonly T[], sortBy: (row: T) => string | number, sort: Sort | null): readonly T[] {
  const direction = sort?.isDescending ? -1 : 1;
  return rows.toSorted((a, b) => direction * compare(sortBy(a), sortBy(b)));
}

function compare(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b), 'en', { numeric: true });
}
