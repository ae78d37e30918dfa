import type { Rrset } from '@corral/contracts';
import {
  type ChangePlan,
  contentOf,
  keyOf,
  type PlanContext,
  planChanges,
  removalOf,
  type WantedSet,
} from '@corral/domain';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useDeferredValue, useMemo, useState } from 'react';
import { dnsUsageQuery, recordSetChangesQuery, rrsetsQuery, zoneQuery } from '../api/queries.js';
import { actorOf } from '../audit/audit-entry-view.js';
import { PlanReview } from '../record-changes/plan-review.js';
import { RunDetails, RunLine } from '../record-changes/run-panel.js';
import { ZoneLoaded } from '../record-changes/zone-loaded.js';
import { useTeam } from '../shell/use-team.js';
import { useDiscardQuestion } from '../ui/discard-question.js';
import { LinkButton } from '../ui/link-button.js';
import { Page } from '../ui/page.js';
import { plural } from '../ui/plural.js';
import { Empty } from '../ui/states.js';
import { useFocusKept } from '../ui/use-focus-kept.js';
import { ChangeBar } from './change-bar.js';
import { Filters, useListSearch } from './filters.js';
import { DanglingSets, Leftovers } from './notices.js';
import { useLinesPasted } from './paste.js';
import styles from './records.module.css';
import { RecordsGrid } from './records-grid.js';
import { draftOf, emptyDraft, type SetDraft } from './set-draft.js';
import { SetDrawer, SideDrawer } from './set-drawer.js';
import { SetEditor } from './set-editor.js';
import { shownSets } from './shown-sets.js';
import { useFreshSets } from './use-fresh-sets.js';
import { discardQuestion, isOver, type RecordChanges, useRecordChanges } from './use-record-changes.js';

/** The record sets of the team, in a grid that is edited in place. */
export function RecordsPage() {
  const { slug, can } = useTeam();
  const [search] = useListSearch();
  const navigate = useNavigate();
  const address = useParams({ strict: false });
  const rrsets = useQuery(rrsetsQuery(slug));
  const zone = useQuery(zoneQuery(slug));
  const usage = useQuery(dnsUsageQuery(slug));
  const lastChanges = useQuery(recordSetChangesQuery(slug));
  const changes = useRecordChanges();
  const { staged, stage, clearStaged, editing, setEditing, saving, runs, beginPlan } = changes;
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isReviewing, setReviewing] = useState(false);
  const [isDetailed, setDetailed] = useState(false);
  const [fresh, onSeen] = useFreshSets(rrsets.data, runs);
  const [ask, question] = useDiscardQuestion();
  const onLines = useLinesPasted(ask);
  const edit = (draft: SetDraft, set: Rrset | null) =>
    ask(discardQuestion(editing, saving), () =>
      setEditing({ draft, began: draft, key: set && keyOf(set), seen: set && contentOf(set) }),
    );
  const context = zone.data &&
    usage.data && { zoneName: zone.data.name, ownerLabel: slug, records: usage.data.records };
  const wanted = useDeferredValue(search);
  const edited = editing?.key ?? null;
  const shown = useMemo(() => shownSets(rrsets.data ?? [], wanted, edited), [rrsets.data, wanted, edited]);
  // A set that somebody else removed has no row any more. What was typed stays.
  const hasRow = edited !== null && shown.some((set) => keyOf(set) === edited);
  useFocusKept(
    '[role="grid"] tr[tabindex="0"]',
    `${runs.plan === null} ${Object.keys(staged).length} ${editing === null}`,
  );

  const list = Object.values(staged);
  const plan = context && rrsets.data && list.length > 0 ? planChanges(rrsets.data, list, context) : null;
  const apply = (planned: ChangePlan) => {
    beginPlan(planned);
    clearStaged();
    setReviewing(false);
  };
  const lastSave = saving === null ? runs.save : null;
  const run = runs.plan ?? lastSave;
  const shownRun = isOver(run) && plan !== null ? null : run;
  const planBack = (sets: readonly WantedSet[]) => {
    run?.discard();
    // A save that ended while the plan was applied is older than the plan, and must not be shown after it.
    if (isOver(runs.save)) runs.save?.discard();
    setDetailed(false);
    stage(sets);
  };
  const lastChangeOf = (set: Pick<Rrset, 'name' | 'type'>) =>
    lastChanges.data?.find((each) => keyOf(each) === keyOf(set)) ?? null;
  const changedBy = (set: Rrset): string | null => {
    const change = lastChangeOf(set);
    // After a change of a set, this is loaded again: until then it is about the change before.
    return lastChanges.isFetching || change?.changedBy == null ? null : actorOf({ actor: change.changedBy });
  };
  const closeDrawer = () =>
    void navigate({ to: '/teams/$team/dns/records', params: { team: slug }, search: true, resetScroll: false });
  const editor = context && <Editor {...{ changes, context, onLines }} rrsets={rrsets.data ?? []} />;
  return (
    <Page
      aside={<Filters rrsets={rrsets.data ?? []} />}
      actions={
        <>
          <LinkButton to={`/teams/${slug}/dns/zone-file`} variant="default">
            Zone file
          </LinkButton>
          {can('createRrset') && (
            <Button variant="filled" data-shortcut="n" onClick={() => edit(emptyDraft, null)}>
              Add record set
            </Button>
          )}
        </>
      }
    >
      <div className={styles.page}>
        <ZoneLoaded>
          {(known) => (
            <>
              <DanglingSets />
              {!hasRow && editor}
              {shown.length === 0 ? (
                <Empty>
                  {known.rrsets.length === 0
                    ? `No record sets yet. Names end in ${slug}. Members add them here, tools with a DNS token.`
                    : `No record set matches${search.filter ? ` “${search.filter}”` : ' the filter'}.`}
                </Empty>
              ) : (
                <RecordsGrid
                  selected={selected}
                  staged={staged}
                  fresh={fresh}
                  changedBy={changedBy}
                  onSeen={onSeen}
                  editor={editor}
                  isReadOnly={!can('createRrset')}
                  zoneName={known.zone.name}
                  rrsets={shown}
                  onSelected={setSelected}
                  runs={runs}
                  editing={hasRow ? edited : null}
                  actions={{
                    onEdit: (set) => edit(drafted(set), set),
                    onClone: (set) => edit(drafted(set), null),
                    onRemove: (set) => stage([removalOf(set)]),
                  }}
                />
              )}
            </>
          )}
        </ZoneLoaded>
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
            context &&
            rrsets.data && (
              <>
                {`${plural(rrsets.data.length, 'record set')}. ${context.records.used} of ${context.records.limit} records are used.`}
                {can('deleteRrset') && <Leftovers rrsets={rrsets.data} changes={lastChanges.data} onStage={stage} />}
              </>
            )
          }
        />
      </div>
      {question}
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
          lastChange={lastChangeOf({ name: address.name, type: address.type })}
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

interface EditorProps {
  readonly changes: RecordChanges;
  readonly context: PlanContext;
  readonly rrsets: readonly Rrset[];
  readonly onLines: (text: string) => void;
}

/** The editor of the set that is edited, if there is one. */
function Editor({ changes, context, rrsets, onLines }: EditorProps) {
  const { staged, stage, editing, setEditing, endEditing, saving, beginSave } = changes;
  if (editing === null) return null;
  const isNew = editing.key === null;
  return (
    <SetEditor
      seen={editing.seen}
      draft={editing.draft}
      onDraft={(draft) => setEditing({ ...editing, draft })}
      // A set that is staged to go can be made anew.
      rrsets={isNew ? rrsets.filter((set) => staged[keyOf(set)]?.content !== null) : rrsets}
      context={context}
      saving={saving}
      onSave={(set) => {
        setEditing({ ...editing, saving: keyOf(set) });
        beginSave(planChanges(rrsets, [set], context));
      }}
      onStage={(set) => {
        endEditing();
        stage([set]);
      }}
      onCancel={endEditing}
      onLines={onLines}
    />
  );
}

const drafted = (set: Rrset) => draftOf(set.name, set.type, contentOf(set));
