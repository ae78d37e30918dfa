import type { Rrset } from '@corral/contracts';
import {
  type ChangePlan,
  contentOf,
  keyOf,
  type PlanContext,
  planChanges,
  type SetContent,
  type WantedSet,
} from '@corral/domain';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useRef, useState } from 'react';
import { dnsUsageQuery, rrsetsQuery, zoneQuery } from '../api/queries.js';
import { PlanReview } from '../record-changes/plan-review.js';
import { RunPanel } from '../record-changes/run-panel.js';
import { type ChangeRun, useChangeRun } from '../record-changes/use-change-run.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { LinkButton } from '../ui/link-button.js';
import { Page, Section } from '../ui/page.js';
import { plural } from '../ui/plural.js';
import { Loaded } from '../ui/states.js';
import { useDraft } from '../ui/use-draft.js';
import { useFocusKept } from '../ui/use-focus-kept.js';
import { FilteredGrid } from './filtered-grid.js';
import styles from './records.module.css';
import type { GridActions } from './records-grid.js';
import { draftOf, emptyDraft, type SetDraft } from './set-draft.js';
import { type Saving, SetEditor } from './set-editor.js';

type Staged = Readonly<Record<string, WantedSet>>;
type Editing = {
  /** That of the set, or null for a new one. */
  readonly key: string | null;
  readonly draft: SetDraft;
  readonly seen: SetContent | null;
  /** The set that is being saved. What was typed stays until that has succeeded. */
  readonly saving?: string;
} | null;
const NOTHING_STAGED: Staged = {};

/** The record sets of the team, in a grid that is edited in place. */
export function RecordsPage() {
  const { slug, me } = useTeam();
  const rrsets = useQuery(rrsetsQuery(slug));
  const zone = useQuery(zoneQuery(slug));
  const usage = useQuery(dnsUsageQuery(slug));
  const [staged, setStaged, clearStaged] = useDraft<Staged>(`records.${me.id}.${slug}.staged`, NOTHING_STAGED);
  const [editing, setEditing, endEditing] = useDraft<Editing>(`records.${me.id}.${slug}.editing`, null);
  const { run, begin } = useChangeRun(slug, `records.${me.id}`, (key) => {
    announce(`Saved ${key}`);
    // The next set may be edited already: its row shows a change before the answer of the save is here.
    if (editing?.saving === key) endEditing();
  });
  const saving = savingOf(editing, run);
  useFocusKept('[role="grid"] tr[tabindex="0"]', `${run === null} ${Object.keys(staged).length} ${editing === null}`);
  const stage = (sets: readonly WantedSet[]) => {
    setStaged({ ...staged, ...Object.fromEntries(sets.map((set) => [keyOf(set), set])) });
    announce(`${plural(sets.length, 'change')} staged`);
  };
  const planBack = (sets: readonly WantedSet[]) => {
    run?.discard();
    stage(sets);
  };
  const used = usage.data?.records;
  // A run that was interrupted is shown even while the API cannot be read.
  return (
    <Page
      title="Record sets"
      aside={used && <span className="muted numeric">{`${used.used} of ${used.limit} records`}</span>}
      actions={
        <>
          <LinkButton to={`/teams/${slug}/dns/zone-file`} variant="default">
            Zone file
          </LinkButton>
          <Button
            variant="filled"
            data-shortcut="n"
            onClick={() => setEditing({ key: null, draft: emptyDraft(slug), seen: null })}
          >
            Add record set
          </Button>
        </>
      }
    >
      {run !== null && saving === null && <RunPanel run={run} onWayBack={planBack} />}
      <Loaded query={zone} what="the zone">
        {({ name }) => (
          <Loaded query={usage} what="the quota">
            {({ records }) => (
              <Loaded query={rrsets} what="record sets">
                {(all) => (
                  <Records
                    rrsets={all}
                    context={{ zoneName: name, ownerLabel: slug, records }}
                    run={run}
                    onApply={begin}
                    changes={{ staged, stage, clearStaged, editing, saving, setEditing, endEditing }}
                  />
                )}
              </Loaded>
            )}
          </Loaded>
        )}
      </Loaded>
    </Page>
  );
}

interface RecordsProps {
  readonly rrsets: readonly Rrset[];
  readonly context: PlanContext;
  readonly run: ChangeRun | null;
  readonly onApply: (plan: ChangePlan) => void;
  /** What has been typed and not been applied. */
  readonly changes: {
    readonly staged: Staged;
    readonly stage: (sets: readonly WantedSet[]) => void;
    readonly clearStaged: () => void;
    readonly editing: Editing;
    readonly saving: Saving | null;
    readonly setEditing: (editing: Editing) => void;
    readonly endEditing: () => void;
  };
}

function Records({ rrsets, context, run, onApply, changes }: RecordsProps) {
  const { staged, stage, clearStaged, editing, saving, setEditing } = changes;
  const endEditing = () => {
    if (saving !== null) run?.discard();
    changes.endEditing();
  };
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isReviewing, setReviewing] = useState(false);
  const wanted = Object.values(staged);
  const review = isReviewing ? planChanges(rrsets, wanted, context) : null;
  const actions = useLatest<GridActions>({
    onEdit: (rrset) => setEditing({ ...drafted(rrset), key: keyOf(rrset), seen: contentOf(rrset) }),
    onClone: (rrset) => setEditing({ ...drafted(rrset), key: null, seen: null }),
    onRemove: (rrset) => stage([{ name: rrset.name, type: rrset.type, content: null, seen: contentOf(rrset) }]),
    onSelect: ({ id }, isSelected) => setSelected((before) => withOrWithout(before, id, isSelected)),
  });
  const editor = editing !== null && (
    <SetEditor
      isNew={editing.key === null}
      draft={editing.draft}
      onDraft={(draft) => setEditing({ ...editing, draft })}
      rrsets={editing.key === null ? rrsets.filter((rrset) => staged[keyOf(rrset)]?.content !== null) : rrsets}
      context={context}
      saving={saving}
      onSave={(set) => {
        setEditing({ ...editing, saving: keyOf(set) });
        onApply(planChanges(rrsets, [{ ...set, seen: editing.seen }], context));
      }}
      onStage={(set) => {
        endEditing();
        stage([{ ...set, seen: editing.seen }]);
      }}
      onCancel={endEditing}
    />
  );
  return (
    <>
      {wanted.length > 0 && (run === null || saving?.isRunning === false) && (
        <Section
          title={plural(wanted.length, 'staged change')}
          actions={
            <div className={styles.bar}>
              <Button onClick={() => setReviewing(!isReviewing)} aria-expanded={isReviewing}>
                Review
              </Button>
              <Button onClick={clearStaged}>Discard</Button>
            </div>
          }
        >
          {review !== null && (
            <PlanReview
              plan={review}
              limit={context.records.limit}
              onApply={() => {
                onApply(review);
                clearStaged();
                setReviewing(false);
              }}
            />
          )}
        </Section>
      )}
      {editing?.key === null && editor}
      <FilteredGrid
        rrsets={rrsets}
        selected={selected}
        onSelectNone={() => setSelected(new Set())}
        onStage={stage}
        grid={{
          team: context.ownerLabel,
          staged,
          outcomes: run?.outcomes ?? {},
          editing: editing?.key ?? null,
          editor,
          ...actions,
        }}
      />
    </>
  );
}

const drafted = (rrset: Rrset) => ({ draft: draftOf(rrset.name, rrset.type, contentOf(rrset)) });

function withOrWithout(ids: ReadonlySet<string>, id: string, isIn: boolean): ReadonlySet<string> {
  const next = new Set(ids);
  if (isIn) next.add(id);
  else next.delete(id);
  return next;
}

/** Handlers that stay the same objects, so that rows are not rendered again because of them. */
function useLatest<T extends object>(handlers: T): T {
  const latest = useRef(handlers);
  latest.current = handlers;
  return useMemo(() => {
    const entries = Object.keys(latest.current).map((name) => [
      name,
      (...args: unknown[]) => (latest.current as Record<string, (...all: unknown[]) => void>)[name]?.(...args),
    ]);
    return Object.fromEntries(entries) as T;
  }, []);
}

/** How far the save of the editor is; null when nothing is saved, or another plan is shown. */
function savingOf(editing: Editing, run: ChangeRun | null): Saving | null {
  if (run === null || editing?.saving === undefined) return null;
  if (run.isRunning) return { isRunning: true, refusal: null };
  const [only, ...others] = run.waves.flat();
  if (only?.key !== editing.saving || others.length > 0) return null;
  return { isRunning: false, refusal: run.outcomes[only.key]?.detail ?? run.stopped ?? UNKNOWN };
}

const UNKNOWN = 'It is not known whether the set was saved. Save it again.';
