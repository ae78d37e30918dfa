import { type ChangePlan, keyOf, type SetContent, type WantedSet } from '@corral/domain';
import { countsOf } from '../record-changes/change-texts.js';
import { type ChangeRun, useChangeRun } from '../record-changes/use-change-run.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { plural } from '../ui/plural.js';
import { useDraft } from '../ui/use-draft.js';
import type { SetDraft } from './set-draft.js';
import type { Saving } from './set-editor.js';

type Staged = Readonly<Record<string, WantedSet>>;
export type Editing = {
  /** The key of the set, or null for a new one. */
  readonly key: string | null;
  readonly draft: SetDraft;
  /** The draft before anything was typed. */
  readonly began: SetDraft;
  readonly seen: SetContent | null;
  /** The set that is being saved. What was typed stays until that has succeeded. */
  readonly saving?: string;
} | null;
const NOTHING_STAGED: Staged = {};

export interface RecordChanges {
  /** Changes that wait to be applied, by the key of their set. */
  readonly staged: Staged;
  readonly stage: (sets: readonly WantedSet[]) => void;
  readonly clearStaged: () => void;
  readonly editing: Editing;
  readonly setEditing: (editing: Editing) => void;
  readonly endEditing: () => void;
  /** How far the save of the editor is; null when nothing is saved. */
  readonly saving: Saving | null;
  /** What is applied, has been interrupted, or has ended: the plan of what was staged, and the last save of the editor. */
  readonly runs: { readonly plan: ChangeRun | null; readonly save: ChangeRun | null };
  readonly beginPlan: (plan: ChangePlan) => void;
  /** Leaves the rest of an interrupted plan as it is. */
  readonly beginSave: (plan: ChangePlan) => void;
}

/** What a person has typed, staged and begun on the page of record sets. A reload keeps it. */
export function useRecordChanges(): RecordChanges {
  const { slug, me } = useTeam();
  const [staged, setStaged, clearStaged] = useDraft<Staged>(`records.${me.id}.${slug}.staged`, NOTHING_STAGED);
  const [editing, setEditing, closeEditor] = useDraft<Editing>(`records.${me.id}.${slug}.editing`, null);
  const { run: plan, begin: beginPlan } = useChangeRun(slug, `records.${me.id}`);
  const { run: save, begin: beginSave } = useChangeRun(slug, `record-save.${me.id}`, (key) => {
    announce(`Saved ${key}`);
    // The next set may be edited already: its row shows a change before the answer of the save is here.
    if (editing?.saving === key) closeEditor();
  });
  const saving = savingOf(editing, save);
  const stage = (sets: readonly WantedSet[]) => {
    setStaged({ ...staged, ...Object.fromEntries(sets.map((set) => [keyOf(set), set])) });
    announce(`${plural(sets.length, 'change')} staged`);
  };
  const endEditing = () => {
    if (saving !== null) save?.discard();
    closeEditor();
  };
  return {
    ...{ staged, stage, clearStaged, editing, setEditing, endEditing, saving },
    runs: { plan, save },
    beginPlan: (next) => {
      // Of two runs that have ended, the bar shows the later one.
      if (isOver(save)) save?.discard();
      beginPlan(next);
    },
    beginSave: (next) => {
      if (isOver(plan)) plan?.discard();
      beginSave(next);
    },
  };
}

/** Whether nothing is left to do in a run. */
export const isOver = (run: ChangeRun | null): boolean =>
  run !== null && !run.isRunning && countsOf(run.waves.flat(), run.outcomes).left === 0;

/** What to ask before another editor replaces this one; null when nothing is typed, or what is typed is being saved. */
export function discardQuestion(editing: Editing, saving: Saving | null): string | null {
  if (editing === null || saving?.isRunning === true) return null;
  const { key, draft, began } = editing;
  if (JSON.stringify(draft) === JSON.stringify(began)) return null;
  return key === null ? 'Discard the new record set?' : `Discard your changes to ${key}?`;
}

function savingOf(editing: Editing, run: ChangeRun | null): Saving | null {
  if (run === null || editing?.saving === undefined) return null;
  if (run.isRunning) return { isRunning: true, refusal: null };
  const [only] = run.waves.flat();
  if (only?.key !== editing.saving) return null;
  const outcome = run.outcomes[only.key];
  // The last save of the set has succeeded, and this one is about to begin.
  if (outcome?.state === 'done') return { isRunning: true, refusal: null };
  return { isRunning: false, refusal: outcome?.detail ?? run.stopped ?? UNKNOWN };
}

const UNKNOWN = 'It is not known whether the set was saved. Save it again.';
