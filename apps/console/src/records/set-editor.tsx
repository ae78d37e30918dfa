import { type Rrset, writableTypes } from '@corral/contracts';
import type { PlanContext, SetContent, WantedSet } from '@corral/domain';
import { ActionIcon, Button, NativeSelect, TextInput } from '@mantine/core';
import { Plus, X } from 'lucide-react';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { Difference } from '../record-changes/change-list.js';
import { linesPasted } from './paste.js';
import styles from './records.module.css';
import { type DraftProblem, existingContent, readDraft, type SetDraft, targetOf, typedName } from './set-draft.js';

export interface Saving {
  readonly isRunning: boolean;
  /** Why the set was not saved; null while it is being saved. */
  readonly refusal: string | null;
}

interface SetEditorProps {
  /** The set as it was when the editor was opened; null: it is created, so that its name and type can be chosen. */
  readonly seen: SetContent | null;
  readonly draft: SetDraft;
  readonly onDraft: (draft: SetDraft) => void;
  readonly rrsets: readonly Rrset[];
  readonly context: PlanContext;
  /** The last save of what is edited, null before it. */
  readonly saving: Saving | null;
  readonly onSave: (wanted: WantedSet) => void;
  readonly onStage: (wanted: WantedSet) => void;
  readonly onCancel: () => void;
  /** Takes several lines that were pasted as a value. */
  readonly onLines: (text: string) => void;
}

/** Edits a record set in place. What would change stands beside Save; nothing is sent before. */
export function SetEditor(props: SetEditorProps) {
  const { seen, draft, onDraft, rrsets, context, saving, onSave, onStage, onCancel, onLines } = props;
  const [refusals, setRefusals] = useState(0);
  const form = useRef<HTMLFieldSetElement>(null);
  const isNew = seen === null;
  const { wanted, to, problems, warnings } = readDraft(draft, rrsets, context, seen);
  const from = isNew ? null : existingContent(rrsets, draft.name, draft.type);
  const title = useId();
  const isSaving = saving?.isRunning === true;
  useEffect(() => {
    if (refusals > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [refusals]);
  // The bar at the bottom must not stand over its buttons.
  useEffect(() => {
    form.current?.scrollIntoView({ block: 'nearest' });
  }, [refusals, saving?.refusal]);
  const finish = (then: (set: WantedSet) => void) => {
    if (isSaving) return;
    if (problems.length === 0) then(wanted);
    else setRefusals(refusals + 1);
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
  const hasTyped = refusals > 0 || draft.records.some(({ value }) => value !== '');
  // A field that waits to be filled is no mistake yet.
  const isShown = ({ at }: DraftProblem) =>
    refusals > 0 || (typeof at === 'number' ? draft.records[at]?.value !== '' : hasTyped || draft[at as 'name'] !== '');
  const problemAt = (place: DraftProblem['at']): string | null =>
    problems
      .filter((problem) => problem.at === place && isShown(problem))
      .map(({ text }) => text)
      .join(' ') || null;
  const ofAll = [problemAt('records'), problemAt('plan')].filter((text) => text !== null);
  return (
    <fieldset ref={form} className={styles.editor} aria-labelledby={title} onKeyDown={keys}>
      <strong id={title}>{isNew ? 'New record set' : `Change ${draft.name} ${draft.type}`}</strong>
      {isNew && <NameFields draft={draft} onDraft={onDraft} context={context} problem={problemAt('name')} />}
      {draft.records.map((_, index) => (
        <RecordFields
          key={index}
          {...{ draft, onDraft, index, onLines }}
          zoneName={context.zoneName}
          problem={problemAt(index)}
          isFocused={!isNew && index === 0}
        />
      ))}
      <div className={styles.fields}>
        <Button
          leftSection={<Plus size={14} aria-hidden />}
          onClick={() => onDraft({ ...draft, records: [...draft.records, { value: '', comment: '' }] })}
        >
          Add value
        </Button>
        <TextInput
          label="TTL (seconds)"
          placeholder="default"
          inputMode="numeric"
          value={draft.ttl}
          onChange={(event) => onDraft({ ...draft, ttl: event.currentTarget.value })}
          error={problemAt('ttl')}
        />
        <TextInput
          label="Labels"
          placeholder="env=prod, team=web"
          value={draft.labels}
          onChange={(event) => onDraft({ ...draft, labels: event.currentTarget.value })}
          spellCheck={false}
          error={problemAt('labels')}
        />
      </div>
      {saving !== null && saving.refusal !== null && (
        <p className={styles.problems} role="alert">
          <strong>Not saved.</strong> {saving.refusal}
        </p>
      )}
      {[...ofAll, ...(isNew ? [] : [problemAt('name')])].map(
        (text) =>
          text !== null && (
            <p key={text} className={styles.problems} role="alert">
              {text}
            </p>
          ),
      )}
      <div className={styles.buttons}>
        {/* A button that is disabled would lose the focus. */}
        <Button variant="filled" aria-busy={isSaving} onClick={() => finish(onSave)}>
          {isSaving ? 'Saving …' : 'Save ↵'}
        </Button>
        <Button onClick={() => finish(onStage)}>Stage for review</Button>
        <Button onClick={() => !isSaving && onCancel()}>Cancel Esc</Button>
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
      </div>
    </fieldset>
  );
}

interface FieldsProps {
  readonly draft: SetDraft;
  readonly onDraft: (draft: SetDraft) => void;
  readonly problem: string | null;
}

function NameFields({ draft, onDraft, context, problem }: FieldsProps & { readonly context: PlanContext }) {
  const name = typedName(draft.name, context);
  const full = name === '@' ? context.zoneName : `${name}.${context.zoneName}`;
  const typed = draft.name.trim().toLowerCase();
  const suffix = full.startsWith(typed) ? full.slice(typed.length) : '';
  return (
    <div className={styles.fields}>
      <TextInput
        label="Name"
        aria-description={`Becomes ${full}`}
        value={draft.name}
        onChange={(event) => onDraft({ ...draft, name: event.currentTarget.value })}
        rightSection={
          <span className="mono muted" aria-hidden>
            {suffix}
          </span>
        }
        rightSectionWidth={`${suffix.length + 2}ch`}
        rightSectionPointerEvents="none"
        classNames={{ input: 'mono' }}
        spellCheck={false}
        autoCapitalize="none"
        autoFocus
        error={problem}
      />
      <NativeSelect
        label="Type"
        data={[...writableTypes]}
        value={draft.type}
        onChange={(event) => onDraft({ ...draft, type: event.currentTarget.value })}
      />
      <NativeSelect
        label="Template"
        data={[{ value: '', label: 'None' }, ...templates.map(({ label }) => label)]}
        value=""
        onChange={(event) => {
          const { label, ...content } = templates.find((each) => each.label === event.currentTarget.value) ?? {};
          onDraft({ ...draft, ...content });
        }}
      />
    </div>
  );
}

interface RecordFieldsProps extends FieldsProps {
  readonly index: number;
  readonly zoneName: string;
  readonly isFocused: boolean;
  readonly onLines: (text: string) => void;
}

function RecordFields({ draft, onDraft, index, zoneName, problem, isFocused, onLines }: RecordFieldsProps) {
  const { records, type } = draft;
  const { value = '', comment = '' } = records[index] ?? {};
  const change = (changed: Partial<SetDraft['records'][number]>) =>
    onDraft({ ...draft, records: records.with(index, { value, comment, ...changed }) });
  return (
    <div className={styles.record}>
      <TextInput
        label={`Value ${index + 1}`}
        description={type === 'CNAME' && value !== '' ? `→ ${targetOf(value, zoneName)}` : undefined}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        value={value}
        onChange={(event) => change({ value: event.currentTarget.value })}
        onPaste={linesPasted(onLines)}
        classNames={{ input: 'mono' }}
        spellCheck={false}
        autoCapitalize="none"
        autoFocus={isFocused}
        error={problem}
      />
      <TextInput
        label={`Comment ${index + 1}`}
        value={comment}
        onChange={(event) => change({ comment: event.currentTarget.value })}
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
  );
}

type Template = Pick<SetDraft, 'name' | 'type' | 'records'> & { readonly label: string };

const text = (label: string, name: string, value: string): Template => ({
  label,
  name,
  type: 'TXT',
  records: [{ value, comment: '' }],
});

/** What people add most and have to look up. */
const templates: readonly Template[] = [
  text('SPF: who may send mail', '', 'v=spf1 include:_spf.example.org -all'),
  text('DKIM: the key of a mail server', 'selector1._domainkey', 'v=DKIM1; k=rsa; p='),
  text('DMARC: what happens to forged mail', '_dmarc', 'v=DMARC1; p=none; rua=mailto:'),
  text('Domain verification', '', 'google-site-verification='),
];
