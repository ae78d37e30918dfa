import { ArrowDown, ArrowUp } from 'lucide-react';
import { type ReactNode, useMemo, useState } from 'react';
import styles from './table.module.css';

export interface Column<T> {
  readonly id: string;
  readonly label: string;
  readonly cell: (row: T) => ReactNode;
  /** Makes the column sortable. */
  readonly sortBy?: (row: T) => string | number;
  /** True for numbers. */
  readonly alignEnd?: boolean;
  /** True for texts of any length, which may break within a word. */
  readonly isLong?: boolean;
}

export interface TableProps<T> {
  /** What the rows are, for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  readonly initialSort?: string;
  /** True for a few narrow columns, which fit on a phone. Others become lists of fields there. */
  readonly isNarrow?: boolean;
}

interface Sort {
  readonly column: string;
  readonly isDescending: boolean;
}

/** A plain table: rows as text that the browser can find and select. Long and editable lists have grids of their own. */
export function Table<T>({ caption, columns, rows, rowKey, initialSort, isNarrow }: TableProps<T>) {
  const [sort, setSort] = useState<Sort | null>(
    initialSort === undefined ? null : { column: initialSort, isDescending: false },
  );
  const sorted = useMemo(() => sortedRows(rows, columns, sort), [rows, columns, sort]);
  return (
    <div className={styles.scroll}>
      <table className={`${styles.table} ${isNarrow ? styles.narrow : styles.stacks}`}>
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ id, label, sortBy, alignEnd }) => (
              <th
                key={id}
                scope="col"
                className={alignEnd ? styles.end : undefined}
                aria-sort={sort?.column === id ? (sort.isDescending ? 'descending' : 'ascending') : undefined}
              >
                {sortBy === undefined ? (
                  label
                ) : (
                  <button
                    type="button"
                    className={styles.sort}
                    onClick={() =>
                      setSort({ column: id, isDescending: sort?.column === id ? !sort.isDescending : false })
                    }
                  >
                    {label}
                    {sort?.column === id &&
                      (sort.isDescending ? <ArrowDown size={12} aria-hidden /> : <ArrowUp size={12} aria-hidden />)}
                  </button>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map(({ id, label, cell, alignEnd, isLong }) => (
                <td
                  key={id}
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

function sortedRows<T>(rows: readonly T[], columns: readonly Column<T>[], sort: Sort | null): readonly T[] {
  const sortBy = columns.find(({ id }) => id === sort?.column)?.sortBy;
  if (sort === null || sortBy === undefined) return rows;
  const direction = sort.isDescending ? -1 : 1;
  return rows.toSorted((a, b) => direction * compare(sortBy(a), sortBy(b)));
}

function compare(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b), 'en', { numeric: true });
}
