import type { Rrset } from '@corral/contracts';
import { keyOf, labelTexts, type Outcomes, ttlText, type WantedSet } from '@corral/domain';
import { ActionIcon, Checkbox } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Copy, Pencil, Trash2 } from 'lucide-react';
import { type FocusEvent, type KeyboardEvent, memo, type ReactNode, useEffect, useRef, useState } from 'react';
import { Copyable } from '../ui/copy.js';
import { Status } from '../ui/status.js';
import table from '../ui/table.module.css';
import styles from './records.module.css';

export interface GridActions {
  readonly onEdit: (rrset: Rrset) => void;
  readonly onClone: (rrset: Rrset) => void;
  readonly onRemove: (rrset: Rrset) => void;
  readonly onSelect: (rrset: Rrset, isSelected: boolean) => void;
}

export interface RecordsGridProps extends GridActions {
  readonly team: string;
  readonly rrsets: readonly Rrset[];
  readonly selected: ReadonlySet<string>;
  readonly staged: Readonly<Record<string, WantedSet>>;
  readonly outcomes: Outcomes;
  /** The set that is edited, and its editor, which replaces the row. */
  readonly editing: string | null;
  readonly editor: ReactNode;
}

const PAGE = 10;
const GRID = `${table.table} ${styles.grid}`;

/**
 * Record sets as a grid with one tab stop (ARIA Authoring Practices, grid): arrows go from row to row, Enter or F2 edits,
 * Space selects, Delete removes. Up to the quota of a team all rows are rendered, so that the browser finds text in them.
 */
export function RecordsGrid(props: RecordsGridProps) {
  const { team, rrsets, selected, staged, outcomes, editing, editor, ...actions } = props;
  /** The set that had the focus last: rows move when others are filtered, added or removed. */
  const [current, setCurrent] = useState<string | null>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  const wasEditing = useRef<string | null>(null);
  const rowOf = (key: string) => body.current?.querySelector<HTMLElement>(`tr[data-key="${CSS.escape(key)}"]`);

  useEffect(() => {
    // The row that was edited takes the focus back from its editor.
    if (editing === null && wasEditing.current !== null) rowOf(wasEditing.current)?.focus();
    wasEditing.current = editing;
  });
  const go = (index: number) => {
    const next = rrsets[Math.max(0, Math.min(rrsets.length - 1, index))];
    if (next !== undefined) rowOf(keyOf(next))?.focus();
  };
  const noteCurrent = (event: FocusEvent<HTMLElement>) => {
    const { key } = event.target.closest<HTMLElement>('tr[data-key]')?.dataset ?? {};
    if (key !== undefined) setCurrent(key);
  };
  const keys = (event: KeyboardEvent<HTMLElement>) => {
    const row = (event.target as HTMLElement).closest<HTMLElement>('tr[data-key]');
    if (row === null || editing !== null) return;
    const at = rrsets.findIndex((each) => keyOf(each) === row.dataset.key);
    const rrset = rrsets[at];
    if (rrset === undefined) return;
    const onRow = event.target === row;
    const handlers: Readonly<Record<string, () => void>> = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      PageDown: () => go(at + PAGE),
      PageUp: () => go(at - PAGE),
      Home: () => go(0),
      End: () => go(rrsets.length - 1),
      ArrowRight: () => focusInRow(row, 1),
      ArrowLeft: () => focusInRow(row, -1),
      F2: () => actions.onEdit(rrset),
      ...(onRow
        ? {
            Enter: () => actions.onEdit(rrset),
            ' ': () => actions.onSelect(rrset, !selected.has(rrset.id)),
            Delete: () => actions.onRemove(rrset),
          }
        : { Escape: () => row.focus() }),
    };
    const handle = handlers[event.key];
    if (handle === undefined) return;
    event.preventDefault();
    handle();
  };
  const stop = Math.max(
    0,
    rrsets.findIndex((rrset) => keyOf(rrset) === current),
  );
  return (
    <div className={table.scroll}>
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a grid is a table whose rows take the focus */}
      <table className={GRID} role="grid" aria-label="Record sets" aria-multiselectable="true" onKeyDown={keys}>
        <thead>
          <tr>
            <th scope="col">
              <span className="visually-hidden">Selected</span>
            </th>
            <th scope="col">Name</th>
            <th scope="col">Type</th>
            <th scope="col">Values</th>
            <th scope="col" className={table.end}>
              TTL
            </th>
            <th scope="col">Labels</th>
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody ref={body} onFocus={noteCurrent}>
          {rrsets.map((rrset, index) =>
            editing === keyOf(rrset) ? (
              <tr key={rrset.id}>
                <td colSpan={7} className={styles.editing}>
                  {editor}
                </td>
              </tr>
            ) : (
              <Row
                key={rrset.id}
                team={team}
                rrset={rrset}
                isStop={index === stop}
                isSelected={selected.has(rrset.id)}
                {...stateOf(rrset, staged, outcomes)}
                {...actions}
              />
            ),
          )}
        </tbody>
      </table>
    </div>
  );
}

type RowTone = 'running' | 'bad' | 'warning';
type RowState = Pick<RowProps, 'tone' | 'word'>;

function stateOf(rrset: Rrset, staged: RecordsGridProps['staged'], outcomes: Outcomes): RowState {
  const key = keyOf(rrset);
  const outcome = outcomes[key];
  if (outcome !== undefined && outcome.state !== 'done') {
    const isBad = outcome.state === 'refused';
    return { tone: isBad ? 'bad' : 'running', word: outcome.state };
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

interface RowProps extends GridActions {
  readonly team: string;
  readonly rrset: Rrset;
  readonly isStop: boolean;
  readonly isSelected: boolean;
  readonly tone: RowTone | null;
  readonly word: string | null;
}

const Row = memo(function Row({ team, rrset, isStop, isSelected, tone, word, ...actions }: RowProps) {
  const { name, type, records, ttl, labels } = rrset;
  const key = keyOf(rrset);
  const button = (label: string, icon: ReactNode, onClick: () => void) => (
    <ActionIcon aria-label={`${label} ${key}`} tabIndex={-1} variant="subtle" onClick={onClick}>
      {icon}
    </ActionIcon>
  );
  return (
    <tr data-key={key} tabIndex={isStop ? 0 : -1} aria-selected={isSelected}>
      <td data-label="Selected">
        <Checkbox
          aria-label={`Select ${key}`}
          tabIndex={-1}
          checked={isSelected}
          onChange={(event) => actions.onSelect(rrset, event.currentTarget.checked)}
          size="xs"
        />
      </td>
      <td data-label="Name" className={table.long}>
        <div>
          <Link
            to="/teams/$team/dns/records/$name/$type"
            params={{ team, name, type }}
            className="mono"
            tabIndex={-1}
            preload={false}
          >
            {name}
          </Link>
          {tone !== null && word !== null && (
            <>
              {' '}
              <Status tone={tone}>{word}</Status>
            </>
          )}
        </div>
      </td>
      <td data-label="Type" className="mono">
        {type}
      </td>
      <td data-label="Values" className={table.long}>
        <div>
          {records.map(({ value, comment }) => (
            <div key={value}>
              <Copyable text={value} tabIndex={-1} />
              {comment !== '' && <span className="faint"> {comment}</span>}
            </div>
          ))}
        </div>
      </td>
      <td data-label="TTL" className={`${table.end} numeric`}>
        {ttlText(ttl)}
      </td>
      <td data-label="Labels" className={`${table.long} mono`}>
        {labelTexts(labels).join(', ')}
      </td>
      <td data-label="Actions">
        <div className={styles.rowActions}>
          {button('Edit', <Pencil size={14} aria-hidden />, () => actions.onEdit(rrset))}
          {button('Clone', <Copy size={14} aria-hidden />, () => actions.onClone(rrset))}
          {button('Remove', <Trash2 size={14} aria-hidden />, () => actions.onRemove(rrset))}
        </div>
      </td>
    </tr>
  );
});
