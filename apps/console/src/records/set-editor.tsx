import { type Rrset, writableTypes } from '@corral/contracts';
import type { PlanContext, WantedSet } from '@corral/domain';
import { ActionIcon, Button, NativeSelect, TextInput } from '@mantine/core';
import { Plus, X } from 'lucide-react';
import { type KeyboardEvent, useId, useState } from 'react';
import { Difference } from '../record-changes/change-list.js';
import styles from './records.module.css';
import { existingContent, readDraft, type SetDraft, targetOf } from './set-draft.js';

export interface Saving {
  readonly isRunning: boolean;
  /** Why the set was not saved; null while it is being saved. */
  readonly refusal: string | null;
}

interface SetEditorProps {
  /** Whether the set is created: then its name and type can be chosen. */
  readonly isNew: boolean;
  readonly draft: SetDraft;
  readonly onDraft: (draft: SetDraft) => void;
  readonly rrsets: readonly Rrset[];
  readonly context: PlanContext;
  /** The last save of what is edited, null before it. */
  readonly saving: Saving | null;
  readonly onSave: (wanted: WantedSet) => void;
  readonly onStage: (wanted: WantedSet) => void;
  readonly onCancel: () => void;
}

/** Edits a record set in place. What would change stands beside Save; nothing is sent before. */
export function SetEditor(props: SetEditorProps) {
  const { isNew, draft, onDraft, rrsets, context, saving, onSave, onStage, onCancel } = props;
  const [isRefused, setRefused] = useState(false);
  const { wanted, problems, warnings } = readDraft(draft, rrsets, context, isNew);
  const from = isNew ? null : existingContent(rrsets, draft.name, draft.type);
  const to = wanted.content === null ? null : { ...wanted.content, labels: wanted.content.labels ?? {} };
  const title = useId();
  const isSaving = saving?.isRunning === true;
  const finish = (then: (set: WantedSet) => void) => {
    if (isSaving) return;
    if (problems.length === 0) then(wanted);
    else setRefused(true);
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      if (!isSaving) onCancel();
    } else if (event.key === 'Enter' && event.target instanceof HTMLInputElement) {
      event.preventDefault();
      finish(onSave);
    }
    event.stopPropagation();
  };
  const hasTyped = isRefused || draft.records.some(({ value }) => value !== '');
  return (
    <fieldset className={styles.editor} aria-labelledby={title} onKeyDown={keys}>
      <strong id={title}>{isNew ? 'New record set' : `Change ${draft.name} ${draft.type}`}</strong>
      {isNew && (
        <div className={styles.fields}>
          <TextInput
            label="Name"
            description={`Ends in ${context.ownerLabel}`}
            value={draft.name}
            onChange={(event) => onDraft({ ...draft, name: event.currentTarget.value })}
            spellCheck={false}
            autoFocus
          />
          <NativeSelect
            label="Type"
            data={[...writableTypes]}
            value={draft.type}
            onChange={(event) => onDraft({ ...draft, type: event.currentTarget.value })}
          />
        </div>
      )}
      <RecordFields draft={draft} onDraft={onDraft} zoneName={context.zoneName} isFirstFocused={!isNew} />
      <div className={styles.fields}>
        <TextInput
          label="TTL (seconds)"
          placeholder="default"
          inputMode="numeric"
          value={draft.ttl}
          onChange={(event) => onDraft({ ...draft, ttl: event.currentTarget.value })}
        />
        <TextInput
          label="Labels"
          placeholder="env=prod, team=web"
          value={draft.labels}
          onChange={(event) => onDraft({ ...draft, labels: event.currentTarget.value })}
          spellCheck={false}
        />
      </div>
      {saving !== null && saving.refusal !== null && (
        <p className={styles.problems} role="alert">
          <strong>Not saved.</strong> {saving.refusal}
        </p>
      )}
      {hasTyped && problems.length > 0 && (
        <ul className={styles.problems} role={isRefused ? 'alert' : 'status'}>
          {problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
      {hasTyped && problems.length === 0 && (
        <div role="status">
          {warnings.map((warning) => (
            <div key={warning} className={styles.warning}>
              {warning}
            </div>
          ))}
          <Difference from={from} to={to} />
        </div>
      )}
      <div className={styles.buttons}>
        <Button variant="filled" loading={isSaving} onClick={() => finish(onSave)}>
          Save ↵
        </Button>
        <Button disabled={isSaving} onClick={() => finish(onStage)}>
          Stage for review
        </Button>
        <Button disabled={isSaving} onClick={onCancel}>
          Cancel Esc
        </Button>
      </div>
    </fieldset>
  );
}

interface RecordFieldsProps {
  readonly draft: SetDraft;
  readonly onDraft: (draft: SetDraft) => void;
  readonly zoneName: string;
  readonly isFirstFocused: boolean;
}

function RecordFields({ draft, onDraft, zoneName, isFirstFocused }: RecordFieldsProps) {
  const { records, type } = draft;
  const change = (at: number, changed: Partial<SetDraft['records'][number]>) =>
    onDraft({ ...draft, records: records.map((record, index) => (index === at ? { ...record, ...changed } : record)) });
  return (
    <>
      {records.map(({ value, comment }, index) => (
        <div key={index} className={styles.record}>
          <TextInput
            label={`Value ${index + 1}`}
            className="mono"
            description={type === 'CNAME' && value !== '' ? `→ ${targetOf(value, zoneName)}` : undefined}
            value={value}
            onChange={(event) => change(index, { value: event.currentTarget.value })}
            spellCheck={false}
            autoFocus={isFirstFocused && index === 0}
          />
          <TextInput
            label={`Comment ${index + 1}`}
            value={comment}
            onChange={(event) => change(index, { comment: event.currentTarget.value })}
          />
          {records.length > 1 && (
            <ActionIcon
              aria-label={`Remove value ${index + 1}`}
              onClick={() => onDraft({ ...draft, records: records.toSpliced(index, 1) })}
            >
              <X size={14} aria-hidden />
            </ActionIcon>
          )}
        </div>
      ))}
      <div>
        <Button
          leftSection={<Plus size={14} aria-hidden />}
          onClick={() => onDraft({ ...draft, records: [...records, { value: '', comment: '' }] })}
        >
          Add value
        </Button>
      </div>
    </>
  );
}
