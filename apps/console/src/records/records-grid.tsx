import type { Rrset } from '@corral/contracts';
import { keyOf, type WantedSet } from '@corral/domain';
import { Checkbox } from '@mantine/core';
import { defaultRangeExtractor, useWindowVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp } from 'lucide-react';
import {
  type FocusEvent,
  type KeyboardEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { flushSync } from 'react-dom';
import { shownState } from '../record-changes/change-texts.js';
import { useTeam } from '../shell/use-team.js';
import table from '../ui/table.module.css';
import { useListSearch } from './filters.js';
import styles from './records.module.css';
import { Row, type RowActions, type RowProps } from './records-row.js';
import { rangeOf, type SortColumn, sortOf, withOrWithout } from './shown-sets.js';
import type { RecordChanges } from './use-record-changes.js';

export interface RecordsGridProps {
  readonly actions: Omit<RowActions, 'onSelect' | 'onUnfold'>;
  /** The person may only read: there are no controls. */
  readonly isReadOnly: boolean;
  readonly zoneName: string;
  readonly rrsets: readonly Rrset[];
  /** Ids of sets. */
  readonly selected: ReadonlySet<string>;
  readonly onSelected: (selected: ReadonlySet<string>) => void;
  readonly staged: Readonly<Record<string, WantedSet>>;
  readonly runs: RecordChanges['runs'];
  /** Ids of sets that somebody else has just changed, and what to do when that has been shown long enough. */
  readonly fresh: ReadonlySet<string>;
  /** Names the one who changed a set last, if that is known. */
  readonly changedBy: (rrset: Rrset) => string | null;
  readonly onSeen: (id: string) => void;
  /** The set that is edited, and its editor, which replaces the row. */
  readonly editing: string | null;
  readonly editor: ReactNode;
}

const PAGE = 10;
/** The height of a row until one is measured. */
const ROW_PX = { wide: 32, narrow: 64 };
const columns: readonly { readonly id: SortColumn; readonly label: string }[] = [
  { id: 'name', label: 'Name' },
  { id: 'type', label: 'Type' },
  { id: 'values', label: 'Values' },
  { id: 'ttl', label: 'TTL' },
  { id: 'labels', label: 'Labels' },
];

/**
 * Record sets as a grid whose rows are one tab stop (ARIA Authoring Practices, grid): arrows go from row to row, with Shift they select,
 * Enter or F2 edits, Space selects, Delete removes. Only rows near the window are rendered, and those with the focus and the
 * editor.
 */
export function RecordsGrid(props: RecordsGridProps) {
  const { slug: team } = useTeam();
  const { isReadOnly, zoneName, rrsets, selected, onSelected, fresh, changedBy, onSeen, editing, editor } = props;
  const actions = {
    onEdit: useLatest(props.actions.onEdit),
    onClone: useLatest(props.actions.onClone),
    onRemove: useLatest(props.actions.onRemove),
  };
  /** The set that had the focus last: rows move when others are filtered, added or removed. */
  const [current, setCurrent] = useState<string | null>(null);
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const body = useRef<HTMLTableSectionElement>(null);
  const wasEditing = useRef<string | null>(null);
  /** The set where a range of selected rows begins. */
  const anchor = useRef<string | null>(null);
  const indexOf = (key: string | null) => rrsets.findIndex((rrset) => keyOf(rrset) === key);
  const stop = Math.max(0, indexOf(current));
  const rows = useRows(rrsets, body, [stop, indexOf(editing)]);
  const rowOf = (key: string) => body.current?.querySelector<HTMLElement>(`tr[data-key="${CSS.escape(key)}"]`);
  const focusOn = (key: string) => {
    // A row outside the window is not rendered before it is the current one.
    flushSync(() => setCurrent(key));
    rowOf(key)?.focus();
  };

  useEffect(() => {
    // The row that was edited takes the focus back from its editor.
    if (editing === null && wasEditing.current !== null) rowOf(wasEditing.current)?.focus();
    if (editing !== null) setCurrent(editing);
    wasEditing.current = editing;
  });
  const ids = rrsets.map(({ id }) => id);
  const onSelect = useLatest(({ id }: Rrset, isSelected: boolean, isRange: boolean) => {
    const changed = isRange && anchor.current !== null ? rangeOf(ids, anchor.current, id) : [id];
    onSelected(withOrWithout(selected, changed, isSelected));
    anchor.current = id;
  });
  const onUnfold = useCallback(
    ({ id }: Rrset) => setUnfolded((before) => withOrWithout(before, [id], !before.has(id))),
    [],
  );
  const keys = (event: KeyboardEvent<HTMLElement>) => {
    const row = (event.target as HTMLElement).closest<HTMLElement>('tr[data-key]');
    const at = indexOf(row?.dataset.key ?? null);
    const rrset = rrsets[at];
    if (row === null || rrset === undefined || editing !== null) return;
    const onRow = event.target === row;
    const go = (index: number) => {
      const next = rrsets[Math.max(0, Math.min(rrsets.length - 1, index))] ?? rrset;
      if (event.shiftKey && !isReadOnly) {
        anchor.current ??= rrset.id;
        const before = withOrWithout(selected, rangeOf(ids, anchor.current, rrset.id), false);
        onSelected(withOrWithout(before, rangeOf(ids, anchor.current, next.id), true));
      }
      focusOn(keyOf(next));
    };
    if (!isReadOnly && (event.ctrlKey || event.metaKey) && event.key === 'a') {
      event.preventDefault();
      return onSelected(withOrWithout(selected, ids, true));
    }
    const handlers: Readonly<Record<string, () => void>> = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      PageDown: () => go(at + PAGE),
      PageUp: () => go(at - PAGE),
      Home: () => go(0),
      End: () => go(rrsets.length - 1),
      ArrowRight: () => focusInRow(row, 1),
      ArrowLeft: () => focusInRow(row, -1),
      ...(onRow ? {} : { Escape: () => row.focus() }),
      ...(isReadOnly ? {} : { F2: () => actions.onEdit(rrset) }),
      ...(isReadOnly || !onRow
        ? {}
        : {
            Enter: () => actions.onEdit(rrset),
            ' ': () => onSelect(rrset, !selected.has(rrset.id), event.shiftKey),
            Delete: () => actions.onRemove(rrset),
          }),
    };
    const handle = handlers[event.key];
    if (handle === undefined) return;
    event.preventDefault();
    handle();
  };
  const noteCurrent = (event: FocusEvent<HTMLElement>) => {
    const { key } = event.target.closest<HTMLElement>('tr[data-key]')?.dataset ?? {};
    if (key !== undefined) setCurrent(key);
  };
  const countOfSelected = rrsets.filter(({ id }) => selected.has(id)).length;
  return (
    <table
      className={styles.grid}
      // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a grid is a table whose rows take the focus
      role="grid"
      aria-label="Record sets"
      aria-multiselectable="true"
      aria-rowcount={rrsets.length + 1}
      onKeyDown={keys}
    >
      <Head
        isReadOnly={isReadOnly}
        isAll={countOfSelected === rrsets.length}
        isSome={countOfSelected > 0}
        onAll={(isAll) => onSelected(withOrWithout(selected, ids, isAll))}
      />
      <tbody ref={body} onFocus={noteCurrent} style={{ height: rows.height }}>
        {rows.shown.map(({ index, top }) => {
          const rrset = rrsets[index];
          if (rrset === undefined) return null;
          const place = { 'aria-rowindex': index + 2, 'data-index': index, style: { top }, ref: rows.measure };
          if (editing === keyOf(rrset)) {
            return (
              <tr key={rrset.id} className={styles.editing} {...place}>
                <td aria-colspan={7}>{editor}</td>
              </tr>
            );
          }
          return (
            <Row
              key={rrset.id}
              {...{ isReadOnly, team, zoneName, rrset, index, top, onSelect, onUnfold, onSeen, ...actions }}
              measure={rows.measure}
              isStop={index === stop}
              isSelected={selected.has(rrset.id)}
              isUnfolded={unfolded.has(rrset.id)}
              isFresh={fresh.has(rrset.id)}
              changedBy={fresh.has(rrset.id) ? changedBy(rrset) : null}
              {...stateOf(rrset, props)}
            />
          );
        })}
      </tbody>
    </table>
  );
}

/** The rows near the window, and those that must not go away, with their distance from the top of the body. */
function useRows(
  rrsets: readonly Rrset[],
  body: { readonly current: HTMLElement | null },
  kept: readonly number[],
): {
  readonly height: number;
  readonly shown: readonly { readonly index: number; readonly top: number }[];
  readonly measure: (row: HTMLElement | null) => void;
} {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    if (body.current !== null) setTop(Math.round(body.current.getBoundingClientRect().top + window.scrollY));
  });
  const rows = useWindowVirtualizer({
    count: rrsets.length,
    estimateSize: () => (window.innerWidth > 640 ? ROW_PX.wide : ROW_PX.narrow),
    getItemKey: (index) => rrsets[index]?.id ?? index,
    overscan: 10,
    scrollMargin: top,
    rangeExtractor: (range) =>
      [...new Set([...defaultRangeExtractor(range), ...kept])].filter((at) => at >= 0).sort((a, b) => a - b),
  });
  return {
    height: rows.getTotalSize(),
    shown: rows.getVirtualItems().map(({ index, start }) => ({ index, top: start - top })),
    measure: rows.measureElement,
  };
}

interface HeadProps {
  readonly isReadOnly: boolean;
  readonly isAll: boolean;
  readonly isSome: boolean;
  readonly onAll: (isAll: boolean) => void;
}

function Head({ isReadOnly, isAll, isSome, onAll }: HeadProps) {
  const [search, searchFor] = useListSearch();
  const { column, isDescending } = sortOf(search);
  const Arrow = isDescending ? ArrowDown : ArrowUp;
  return (
    <thead>
      <tr aria-rowindex={1}>
        <th scope="col">
          {isReadOnly ? (
            <span className="visually-hidden">Selected</span>
          ) : (
            <Checkbox
              aria-label="Select all"
              checked={isAll}
              indeterminate={isSome && !isAll}
              onChange={(event) => onAll(event.currentTarget.checked)}
            />
          )}
        </th>
        {columns.map(({ id, label }) => (
          <th key={id} scope="col" aria-sort={column === id ? (isDescending ? 'descending' : 'ascending') : undefined}>
            <button
              type="button"
              className={table.sort}
              onClick={() => searchFor({ sort: `${column === id && !isDescending ? '-' : ''}${id}` })}
            >
              {label}
              {column === id && <Arrow size={12} aria-hidden />}
            </button>
          </th>
        ))}
        <th scope="col">
          <span className="visually-hidden">Actions</span>
        </th>
      </tr>
    </thead>
  );
}

function stateOf(
  rrset: Rrset,
  { staged, runs }: Pick<RecordsGridProps, 'staged' | 'runs'>,
): Pick<RowProps, 'tone' | 'word'> {
  const key = keyOf(rrset);
  for (const run of [runs.save, runs.plan]) {
    const outcome = run?.outcomes[key];
    if (run === null || outcome === undefined || outcome.state === 'done') continue;
    const { state, word } = shownState(outcome, run.isRunning);
    return { tone: state === 'refused' ? 'bad' : state === 'unknown' ? 'warning' : 'running', word };
  }
  const wanted = staged[key];
  if (wanted === undefined) return { tone: null, word: null };
  return { tone: 'warning', word: wanted.content === null ? 'to be removed' : 'to be changed' };
}

/** The controls of a row are reached with the arrow keys. */
function focusInRow(row: HTMLElement, direction: 1 | -1): void {
  const controls = [...row.querySelectorAll<HTMLElement>('a, button, input')];
  const at = controls.indexOf(document.activeElement as HTMLElement);
  const next = at + direction;
  if (at === -1 && direction === -1) return;
  if (next < 0) row.focus();
  else controls[Math.min(next, controls.length - 1)]?.focus();
}

/** A handler that stays the same function, so that rows are not rendered again because of it. */
function useLatest<A extends unknown[]>(handler: (...args: A) => void): (...args: A) => void {
  const latest = useRef(handler);
  latest.current = handler;
  return useCallback((...args: A) => latest.current(...args), []);
}
