import { type FieldProblem, isCorralError } from '@corral/client';
import type { Cluster, ClusterSpec, Operation } from '@corral/contracts';
import { Button, NativeSelect } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState } from 'react';
import { clusterQuery, operationsQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { Page } from '../ui/page.js';
import { clockOf } from '../ui/relative-time.js';
import { Loaded } from '../ui/states.js';
import { Table } from '../ui/table.js';
import { useDraft } from '../ui/use-draft.js';
import { ClusterEditor } from './cluster-editor.js';
import { isSame } from './plan.js';
import styles from './plan.module.css';
import { PlanPanel } from './plan-panel.js';
import { fieldName, valueText } from './plan-text.js';
import { readDocument, textOf } from './spec-document.js';
import { type Choice, differencesOf, type FieldDifference, mergedText } from './three-way.js';
import { usePlan } from './use-plan.js';

/** Changes a cluster: form or YAML, with the plan beside it. */
export function ChangeClusterPage() {
  const { slug } = useTeam();
  const { name } = useParams({ from: '/signed-in/teams/$team/clusters/$name/change' });
  const cluster = useQuery(clusterQuery(slug, name));
  return (
    <Page title={`Change ${name}`}>
      <Loaded query={cluster} what="the cluster">
        {(found) => <ChangeCluster key={found.metadata.id} cluster={found} />}
      </Loaded>
    </Page>
  );
}

function ChangeCluster({ cluster }: { readonly cluster: Cluster }) {
  const { slug: team } = useTeam();
  const navigate = useNavigate();
  const { name, etag, id } = cluster.metadata;
  const [start] = useState(() => startOf(cluster));
  const [kept, setDraft, clear] = useDraft(`${team}.change-cluster.${id}`, start);
  const [isComparing, setComparing] = useState(false);
  const [reveal, setReveal] = useState<{ readonly pointer: string } | null>(null);
  // The accepted change is then the present specification, which is no change of another person.
  const [isApplied, setApplied] = useState(false);
  const cache = useQueryClient();
  const isUntouched = kept.text === textOf(kept.began);
  // Nothing was typed yet, so the change of another person is simply what the form begins with.
  const draft = isUntouched ? startOf(cluster) : kept;
  const { spec, problem } = useMemo(() => readDocument(draft.text), [draft.text]);
  // The stream shows the change of another person before a 412 would.
  const hasChanged = !isSame(cluster.spec, draft.began);
  const hasEdits = spec === null || !isSame(spec, draft.began);
  const planning = usePlan({ team, name }, hasEdits && !hasChanged ? spec : null, etag);
  if (isApplied) return <p role="status">The change was accepted.</p>;
  if (isComparing && hasChanged && spec !== null) {
    return (
      <Conflict
        began={draft.began}
        current={cluster}
        yours={spec}
        text={draft.text}
        onMerged={(text) => {
          setComparing(false);
          setDraft({ began: cluster.spec as ClusterSpec, text });
        }}
      />
    );
  }
  return (
    <div className={styles.editor}>
      <div className={styles.fields}>
        <ClusterEditor
          text={draft.text}
          onText={(text) => setDraft({ ...draft, text })}
          problems={planning.isCurrent && isCorralError(planning.error) ? planning.error.errors : NONE}
          isNew={false}
          isStarted={cluster.status.phase !== 'Draft'}
          reveal={reveal}
        />
        {hasEdits && (
          <div>
            <Button onClick={() => setDraft(startOf(cluster))}>Discard changes</Button>
          </div>
        )}
      </div>
      {hasChanged ? (
        <section className={styles.side} aria-label="Plan">
          <h2>Plan</h2>
          <p role="alert">
            {name} has changed since you began. {problem !== null && `Fix line ${problem.line}, then compare.`}
          </p>
          <Button variant="filled" onClick={() => setComparing(spec !== null)}>
            Compare
          </Button>
        </section>
      ) : (
        <PlanPanel
          target={{ team, name }}
          began={cluster}
          planning={planning}
          action={`Apply to ${name}`}
          hint={hintOf(problem, hasEdits)}
          onReveal={(pointer) => setReveal({ pointer })}
          onConflict={(current) => {
            cache.setQueryData(clusterQuery(team, name).queryKey, current);
            setComparing(true);
          }}
          onApplied={() => {
            setApplied(true);
            clear();
            void navigate({ to: '/teams/$team/clusters/$name', params: { team, name } });
          }}
        />
      )}
    </div>
  );
}

const NONE: readonly FieldProblem[] = [];

const startOf = ({ spec }: Cluster) => ({ began: spec as ClusterSpec, text: textOf(spec) });

function hintOf(problem: { readonly line: number } | null, hasEdits: boolean): string {
  if (problem !== null) return `Fix line ${problem.line} of the YAML to see what it does and costs.`;
  return hasEdits ? 'Planning …' : 'Nothing is changed yet.';
}

interface ConflictProps {
  readonly began: ClusterSpec;
  readonly current: Cluster;
  readonly yours: Readonly<Partial<ClusterSpec>>;
  /** Your document, from which `yours` was read. */
  readonly text: string;
  readonly onMerged: (text: string) => void;
}

const outcomes = { them: 'Theirs, taken over', you: 'Yours, kept' } as const;

/** Another person changed the specification meanwhile: three ways, field by field. */
function Conflict({ began, current, yours, text, onMerged }: ConflictProps) {
  const { slug: team } = useTeam();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const operations = useQuery(operationsQuery(team, current.metadata.id));
  const last = operations.data?.find(({ id }) => id === current.status.lastOperation?.id);
  const [choices, setChoices] = useState<Readonly<Record<string, Choice>>>({});
  const [isRefused, setRefused] = useState(false);
  const differences = differencesOf(began, current.spec as ClusterSpec, yours);
  const { name } = current.metadata;
  const merge = () => {
    const merged = mergedText(text, differences, choices);
    if (merged === null) setRefused(true);
    else onMerged(merged);
  };
  const columns = {
    Field: ({ field }: FieldDifference) => nameOf(field),
    'When you began': (row: FieldDifference) => valueText(row.began),
    [nowLabel(last)]: (row: FieldDifference) => valueText(row.now),
    Yours: (row: FieldDifference) => valueText(row.yours),
    Outcome: ({ field, by }: FieldDifference) =>
      by !== 'both' ? (
        outcomes[by]
      ) : (
        <NativeSelect
          aria-label={`Outcome of ${nameOf(field)}`}
          value={choices[field] ?? ''}
          onChange={(event) => setChoices({ ...choices, [field]: event.currentTarget.value as Choice })}
          data={[
            { value: '', label: 'Choose …', disabled: true },
            { value: 'now', label: 'Now' },
            { value: 'yours', label: 'Yours' },
          ]}
          error={isRefused && choices[field] === undefined ? 'Choose one.' : null}
        />
      ),
  };
  return (
    <section aria-labelledby="compare" className={styles.fields}>
      <h2 id="compare" ref={heading} tabIndex={-1}>
        {name} has changed since you began
      </h2>
      <p>
        Nothing was applied, and what you typed is still here.
        {differences.length === 0 && ' Nothing of yours differs from it any more.'}
      </p>
      <Table
        caption="Three versions of the specification"
        columns={columns}
        rows={differences}
        rowKey={({ field }) => field}
      />
      <div>
        <Button variant="filled" onClick={merge}>
          Continue with these
        </Button>
      </div>
    </section>
  );
}

/** "Now (Ada, 12:01:00)", if it is known whose change it is. */
const nowLabel = (last: Operation | undefined): string =>
  last?.createdBy ? `Now (${last.createdBy.displayName}, ${clockOf(Date.parse(last.createdAt))})` : 'Now';

/** "general, maximum" of `nodePools.general.maximum`. */
function nameOf(field: string): string {
  const [first, pool = '', ...below] = field.split('.');
  if (first !== 'nodePools') return fieldName(`/spec/${field.replaceAll('.', '/')}`, []);
  return fieldName(['/spec/nodePools/0', ...below].join('/'), [pool]);
}
