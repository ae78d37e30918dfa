import type { Rrset } from '@corral/contracts';
import { type ChangePlan, contentOf, keyOf, planChanges, type SetContent, type WantedSet } from '@corral/domain';
import { Button, Drawer } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type ReactNode, useDeferredValue, useMemo, useState } from 'react';
import { dnsUsageQuery, rrsetsQuery, zoneQuery } from '../api/queries.js';
import { countsOf } from '../record-changes/change-texts.js';
import { PlanReview } from '../record-changes/plan-review.js';
import { RunDetails, RunLine } from '../record-changes/run-panel.js';
import { type ChangeRun, useChangeRun } from '../record-changes/use-change-run.js';
import { useTeam } from '../shell/use-team.js';
import { announce } from '../ui/announcer.js';
import { LinkButton } from '../ui/link-button.js';
import { Page } from '../ui/page.js';
import { plural } from '../ui/plural.js';
import { Empty, Loaded } from '../ui/states.js';
import { useDraft } from '../ui/use-draft.js';
import { useFocusKept } from '../ui/use-focus-kept.js';
import { ChangeBar } from './change-bar.js';
import { Filters, useListSearch } from './filters.js';
import { useLinesPasted } from './paste.js';
import styles from './records.module.css';
import { RecordsGrid } from './records-grid.js';
import { draftOf, emptyDraft, type SetDraft } from './set-draft.js';
import { SetDrawer } from './set-drawer.js';
import { type Saving, SetEditor } from './set-editor.js';
import { shownSets } from './shown-sets.js';
import { useFreshSets } from './use-fresh-sets.js';

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
  const [search] = useListSearch();
  const navigate = useNavigate();
  const address = useParams({ strict: false });
  const rrsets = useQuery(rrsetsQuery(slug));
  const zone = useQuery(zoneQuery(slug));
  const usage = useQuery(dnsUsageQuery(slug));
  const [staged, setStaged, clearStaged] = useDraft<Staged>(`records.${me.id}.${slug}.staged`, NOTHING_STAGED);
  const [editing, setEditing, closeEditor] = useDraft<Editing>(`records.${me.id}.${slug}.editing`, null);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isReviewing, setReviewing] = useState(false);
  const [isDetailed, setDetailed] = useState(false);
  const { run, begin } = useChangeRun(slug, `records.${me.id}`, (key) => {
    announce(`Saved ${key}`);
    // The next set may be edited already: its row shows a change before the answer of the save is here.
    if (editing?.saving === key) closeEditor();
  });
  const [fresh, onSeen] = useFreshSets(rrsets.data, run);
  const onLines = useLinesPasted();
  const saving = savingOf(editing, run);
  const context = zone.data &&
    usage.data && { zoneName: zone.data.name, ownerLabel: slug, records: usage.data.records };
  const wanted = useDeferredValue(search);
  const shown = useMemo(() => shownSets(rrsets.data ?? [], wanted), [rrsets.data, wanted]);
  useFocusKept('[role="grid"] tr[tabindex="0"]', `${run === null} ${Object.keys(staged).length} ${editing === null}`);

  const stage = (sets: readonly WantedSet[]) => {
    setStaged({ ...staged, ...Object.fromEntries(sets.map((set) => [keyOf(set), set])) });
    announce(`${plural(sets.length, 'change')} staged`);
  };
  const endEditing = () => {
    if (saving !== null) run?.discard();
    closeEditor();
  };
  const list = Object.values(staged);
  const plan = context && rrsets.data && list.length > 0 ? planChanges(rrsets.data, list, context) : null;
  const apply = (planned: ChangePlan) => {
    begin(planned);
    clearStaged();
    setReviewing(false);
  };
  const isOver = run !== null && !run.isRunning && countsOf(run.waves.flat(), run.outcomes).left === 0;
  const shownRun = saving !== null || (isOver && plan !== null) ? null : run;
  const planBack = (sets: readonly WantedSet[]) => {
    run?.discard();
    setDetailed(false);
    stage(sets);
  };
  const closeDrawer = () =>
    void navigate({ to: '/teams/$team/dns/records', params: { team: slug }, search: true, resetScroll: false });
  const editor = editing !== null && context && (
    <SetEditor
      isNew={editing.key === null}
      draft={editing.draft}
      onDraft={(draft) => setEditing({ ...editing, draft })}
      rrsets={(rrsets.data ?? []).filter((set) => editing.key !== null || staged[keyOf(set)]?.content !== null)}
      context={context}
      saving={saving}
      onSave={(set) => {
        setEditing({ ...editing, saving: keyOf(set) });
        begin(planChanges(rrsets.data ?? [], [{ ...set, seen: editing.seen }], context));
      }}
      onStage={(set) => {
        endEditing();
        stage([{ ...set, seen: editing.seen }]);
      }}
      onCancel={endEditing}
      onLines={onLines}
    />
  );
  return (
    <Page
      title="Record sets"
      aside={<Filters rrsets={rrsets.data ?? []} />}
      actions={
        <>
          <LinkButton to={`/teams/${slug}/dns/zone-file`} variant="default">
            Zone file
          </LinkButton>
          <Button
            variant="filled"
            data-shortcut="n"
            onClick={() => setEditing({ key: null, draft: emptyDraft, seen: null })}
          >
            Add record set
          </Button>
        </>
      }
    >
      <div className={styles.page}>
        <Loaded query={zone} what="the zone">
          {({ name }) => (
            <Loaded query={usage} what="the quota">
              {() => (
                <Loaded query={rrsets} what="record sets">
                  {(all) => (
                    <>
                      {editing?.key === null && editor}
                      {shown.length === 0 ? (
                        <Empty>
                          {all.length === 0
                            ? `No record sets yet. Names end in ${slug}. Add one here, or let tools create them with a DNS token.`
                            : `No record set matches${search.filter ? ` “${search.filter}”` : ' the filter'}.`}
                        </Empty>
                      ) : (
                        <RecordsGrid
                          {...{ selected, staged, fresh, onSeen, editor }}
                          team={slug}
                          zoneName={name}
                          rrsets={shown}
                          onSelected={setSelected}
                          outcomes={run?.outcomes ?? {}}
                          isRunning={run?.isRunning === true}
                          editing={editing?.key ?? null}
                          actions={{
                            onEdit: (set) => setEditing({ draft: drafted(set), key: keyOf(set), seen: contentOf(set) }),
                            onClone: (set) => setEditing({ draft: drafted(set), key: null, seen: null }),
                            onRemove: (set) => stage([removalOf(set)]),
                          }}
                        />
                      )}
                    </>
                  )}
                </Loaded>
              )}
            </Loaded>
          )}
        </Loaded>
        {/* A run that was interrupted is shown even while the API cannot be read. */}
        <ChangeBar
          picked={shown.filter(({ id }) => selected.has(id))}
          onStage={stage}
          onSelectNone={() => setSelected(new Set())}
          plan={plan}
          limit={context?.records.limit ?? 0}
          onApply={apply}
          onReview={() => setReviewing(true)}
          onDiscard={clearStaged}
          run={
            shownRun && (
              <RunLine run={shownRun} onWayBack={planBack}>
                <Button onClick={() => setDetailed(true)}>Details</Button>
              </RunLine>
            )
          }
          status={
            context && rrsets.data
              ? `${plural(rrsets.data.length, 'record set')}. ${context.records.used} of ${context.records.limit} records are used.`
              : ''
          }
        />
      </div>
      <SideDrawer opened={isReviewing && plan !== null} onClose={() => setReviewing(false)} title="Review">
        {plan && context && <PlanReview plan={plan} limit={context.records.limit} onApply={() => apply(plan)} />}
      </SideDrawer>
      <SideDrawer opened={isDetailed && run !== null} onClose={() => setDetailed(false)} title="Details">
        {run && <RunDetails run={run} />}
      </SideDrawer>
      {address.name !== undefined && address.type !== undefined && rrsets.data && context && (
        <SetDrawer
          name={address.name}
          type={address.type}
          zoneName={context.zoneName}
          rrset={rrsets.data.find(({ name, type }) => name === address.name && type === address.type)}
          onClose={closeDrawer}
          onRestore={(content) => {
            const { name = '', type = '' } = address;
            stage([{ name, type, content }]);
            closeDrawer();
          }}
        />
      )}
    </Page>
  );
}

interface SideDrawerProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly children: ReactNode;
}

const SideDrawer = (props: SideDrawerProps) => (
  <Drawer {...props} position="right" size="36rem" closeButtonProps={{ 'aria-label': 'Close' }} />
);

const drafted = (set: Rrset) => draftOf(set.name, set.type, contentOf(set));
const removalOf = (set: Rrset): WantedSet => {
  const { name, type } = set;
  return { name, type, content: null, seen: contentOf(set) };
};

/** How far the save of the editor is; null when nothing is saved, or another plan is shown. */
function savingOf(editing: Editing, run: ChangeRun | null): Saving | null {
  if (run === null || editing?.saving === undefined) return null;
  if (run.isRunning) return { isRunning: true, refusal: null };
  const [only, ...others] = run.waves.flat();
  if (only?.key !== editing.saving || others.length > 0) return null;
  const outcome = run.outcomes[only.key];
  // The last save of the set has succeeded, and this one is about to begin.
  if (outcome?.state === 'done') return { isRunning: true, refusal: null };
  return { isRunning: false, refusal: outcome?.detail ?? run.stopped ?? UNKNOWN };
}

const UNKNOWN = 'It is not known whether the set was saved. Save it again.';
