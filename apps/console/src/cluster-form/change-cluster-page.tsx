import type { Cluster, ClusterSpec } from '@corral/contracts';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { isProblem } from '../api/problem.js';
import { clusterQuery } from '../api/queries.js';
import { teamPath } from '../shell/navigation.js';
import { useTeam } from '../shell/use-team.js';
import { Page } from '../ui/page.js';
import { Loaded } from '../ui/states.js';
import { useDraft } from '../ui/use-draft.js';
import { ClusterEditor } from './cluster-editor.js';
import { Conflict } from './conflict.js';
import { isSame } from './plan.js';
import styles from './plan.module.css';
import { PlanPanel } from './plan-panel.js';
import { readDocument, textOf } from './spec-document.js';
import { usePlan } from './use-plan.js';

/** Changes a cluster: form or YAML, with the plan beside it. */
export function ChangeClusterPage() {
  const { slug } = useTeam();
  const { name } = useParams({ from: '/signed-in/teams/$team/clusters/$name/change' });
  const cluster = useQuery(clusterQuery(slug, name));
  return (
    <Page
      title={`Change ${name}`}
      crumbs={[
        { label: 'Clusters', to: teamPath(slug, '/clusters') },
        { label: name, to: teamPath(slug, `/clusters/${name}`) },
      ]}
    >
      <Loaded query={cluster} what="the cluster">
        {(found) => <ChangeCluster key={found.metadata.id} team={slug} cluster={found} />}
      </Loaded>
    </Page>
  );
}

function ChangeCluster({ team, cluster }: { readonly team: string; readonly cluster: Cluster }) {
  const navigate = useNavigate();
  const { name, etag, id } = cluster.metadata;
  const [start] = useState(() => ({ began: cluster.spec as ClusterSpec, text: textOf(cluster.spec) }));
  const [draft, setDraft, clear] = useDraft(`${team}.change-cluster.${id}`, start);
  const [conflict, setConflict] = useState<Cluster | null>(null);
  // The accepted change is then the present specification, which is no change of another person.
  const [isApplied, setApplied] = useState(false);
  const { spec } = readDocument(draft.text);
  // The stream shows the change of another person before a 412 would.
  const hasChanged = !isSame(cluster.spec, draft.began);
  const current = hasChanged ? cluster : conflict;
  const hasEdits = spec === null || !isSame(spec, draft.began);
  const planning = usePlan({ team, name }, hasEdits && current === null ? spec : null, etag);
  if (isApplied) return <p role="status">The change was accepted.</p>;
  if (current !== null && spec !== null) {
    return (
      <Conflict
        began={draft.began}
        current={current}
        yours={spec}
        onMerged={(merged) => {
          setConflict(null);
          setDraft({ began: current.spec as ClusterSpec, text: textOf(merged) });
        }}
      />
    );
  }
  return (
    <div className={styles.editor}>
      <div className={styles.fields}>
        <ClusterEditor
          team={team}
          text={draft.text}
          onText={(text) => setDraft({ ...draft, text })}
          problems={isProblem(planning.error) ? planning.error.fields : []}
          isNew={false}
        />
        {hasEdits && (
          <div>
            <Button onClick={() => setDraft({ began: cluster.spec as ClusterSpec, text: textOf(cluster.spec) })}>
              Discard changes
            </Button>
          </div>
        )}
      </div>
      <PlanPanel
        target={{ team, name }}
        began={cluster}
        planning={planning}
        action={`Apply to ${name}`}
        hint={hasEdits ? 'Planning …' : 'Nothing is changed yet.'}
        onConflict={setConflict}
        onApplied={() => {
          setApplied(true);
          clear();
          void navigate({ to: '/teams/$team/clusters/$name', params: { team, name } });
        }}
      />
    </div>
  );
}
