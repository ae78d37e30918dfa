import type { Rrset } from '@corral/contracts';
import { keyOf, labelTexts } from '@corral/domain';
import { ActionIcon, Checkbox } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { CopyPlus, Pencil, Trash2 } from 'lucide-react';
import { memo, type ReactNode } from 'react';
import { Copyable } from '../ui/copy.js';
import { durationText } from '../ui/duration.js';
import { Status } from '../ui/status.js';
import styles from './records.module.css';

export interface RowActions {
  readonly onEdit: (rrset: Rrset) => void;
  readonly onClone: (rrset: Rrset) => void;
  readonly onRemove: (rrset: Rrset) => void;
  /** @param isRange all rows since the last one that was selected */
  readonly onSelect: (rrset: Rrset, isSelected: boolean, isRange: boolean) => void;
  readonly onUnfold: (rrset: Rrset) => void;
}

export interface RowProps extends RowActions {
  readonly team: string;
  readonly zoneName: string;
  readonly rrset: Rrset;
  readonly index: number;
  /** Pixels from the top of the list. */
  readonly top: number;
  readonly measure: (row: HTMLElement | null) => void;
  readonly isStop: boolean;
  /** The person may only read: there are no controls. */
  readonly isReadOnly: boolean;
  readonly isSelected: boolean;
  readonly isUnfolded: boolean;
  /** Whether somebody else has just changed the set, and who, once that is known. */
  readonly isFresh: boolean;
  readonly changedBy: string | null;
  readonly onSeen: (id: string) => void;
  readonly tone: 'running' | 'bad' | 'warning' | null;
  readonly word: string | null;
}

/** A record set in one line; more values than one unfold. */
export const Row = memo(function Row(props: RowProps) {
  const { team, zoneName, rrset, index, top, measure, isStop, isReadOnly, isSelected, isFresh, onSeen, tone, word } =
    props;
  const { name, type, ttl, labels } = rrset;
  const key = keyOf(rrset);
  const button = (label: string, icon: ReactNode, onClick: () => void) => (
    <ActionIcon aria-label={`${label} ${key}`} tabIndex={-1} variant="subtle" onClick={onClick}>
      {icon}
    </ActionIcon>
  );
  const suffix = name.endsWith(`.${team}`) ? `.${team}` : '';
  const labelsText = labelTexts(labels).join(', ');
  return (
    <tr
      ref={measure}
      data-key={key}
      data-index={index}
      style={{ top }}
      tabIndex={isStop ? 0 : -1}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
    >
      <td>
        {!isReadOnly && (
          <Checkbox
            aria-label={`Select ${key}`}
            tabIndex={-1}
            checked={isSelected}
            onChange={(event) =>
              props.onSelect(rrset, event.currentTarget.checked, (event.nativeEvent as MouseEvent).shiftKey)
            }
          />
        )}
      </td>
      <td title={`${name}.${zoneName}`}>
        <Link
          to="/teams/$team/dns/records/$name/$type"
          params={{ team, name, type }}
          search={true}
          resetScroll={false}
          className="mono"
          tabIndex={-1}
          preload={false}
        >
          {name.slice(0, name.length - suffix.length)}
          <span className="muted">{suffix}</span>
        </Link>{' '}
        {tone !== null && word !== null && <Status tone={tone}>{word}</Status>}
        {isFresh && (
          <span className={styles.fresh} onAnimationEnd={() => onSeen(rrset.id)}>
            {props.changedBy === null ? 'changed just now' : `${props.changedBy}, just now`}
          </span>
        )}
      </td>
      <td className="mono">{type}</td>
      <td>
        <Values {...props} />
      </td>
      <td className="numeric" title={ttl === null ? undefined : `${ttl} s`}>
        {ttl === null ? 'default' : durationText(ttl)}
      </td>
      <td className="mono" title={labelsText}>
        {labelsText}
      </td>
      <td>
        {!isReadOnly && (
          <>
            {button('Edit', <Pencil size={14} aria-hidden />, () => props.onEdit(rrset))}
            {button('Clone', <CopyPlus size={14} aria-hidden />, () => props.onClone(rrset))}
            {button('Remove', <Trash2 size={14} aria-hidden />, () => props.onRemove(rrset))}
          </>
        )}
      </td>
    </tr>
  );
});

/** Longer values are cut, with their length. */
const SHOWN_CHARACTERS = 60;

function Values({ rrset, isUnfolded, onUnfold }: Pick<RowProps, 'rrset' | 'isUnfolded' | 'onUnfold'>) {
  const { records } = rrset;
  const [first, ...others] = records;
  const length = first?.value.length ?? 0;
  const more = others.length > 0 ? `+${others.length}` : length > SHOWN_CHARACTERS ? `${length} characters` : null;
  return (
    <div className={styles.values} data-unfolded={isUnfolded}>
      {(isUnfolded ? records : records.slice(0, 1)).map(({ value, comment }) => (
        <div key={value} title={comment}>
          <Copyable text={value} tabIndex={-1} />
          {comment !== '' && <span className="faint"> {comment}</span>}
        </div>
      ))}
      {more !== null && (
        <button
          type="button"
          className={styles.more}
          tabIndex={-1}
          aria-expanded={isUnfolded}
          aria-label={`All of ${keyOf(rrset)}, ${more}`}
          onClick={() => onUnfold(rrset)}
        >
          {isUnfolded ? 'less' : more}
        </button>
      )}
    </div>
  );
}
