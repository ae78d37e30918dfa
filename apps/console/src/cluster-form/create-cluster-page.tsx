import { clusterLimits } from '@corral/contracts';
import { TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { isProblem } from '../api/problem.js';
import { catalogueQuery, connectionsQuery } from '../api/queries.js';
import { teamPath } from '../shell/navigation.js';
import { useTeam } from '../shell/use-team.js';
import { Page } from '../ui/page.js';
import { Loaded, Loading } from '../ui/states.js';
import { useDraft } from '../ui/use-draft.js';
import { ClusterEditor } from './cluster-editor.js';
import styles from './plan.module.css';
import { PlanPanel } from './plan-panel.js';
import { firstTypeIn } from './spec-choices.js';
import { readDocument, textOf } from './spec-document.js';
import { usePlan } from './use-plan.js';

/** Creates a cluster, or a draft that has no pools yet. */
export function CreateClusterPage() {
  const { slug } = useTeam();
  const connections = useQuery(connectionsQuery(slug));
  const ready = connections.data?.find(({ status }) => status.phase === 'Ready') ?? connections.data?.[0];
  const connectionRef = ready?.metadata.ref;
  const catalogue = useQuery({ ...catalogueQuery(slug, connectionRef), enabled: connections.data !== undefined });
  return (
    <Page title="Create cluster" crumbs={[{ label: 'Clusters', to: teamPath(slug, '/clusters') }]}>
      <Loaded query={connections} what="connections">
        {() => {
          if (catalogue.data === undefined && catalogue.error === null) return <Loading what="the catalogue" />;
          const region = catalogue.data?.regions[0]?.name;
          const version = catalogue.data?.kubernetesVersions.find(({ newestOf }) => newestOf !== null)?.newestOf;
          return (
            <CreateCluster
              team={slug}
              initial={textOf({
                connectionRef: connectionRef ?? '',
                region: region ?? '',
                kubernetesVersion: version ?? '',
                plan: 'payg',
                nodePools: [
                  { name: 'general', machineType: firstTypeIn(catalogue.data, region) ?? '', minimum: 1, maximum: 3 },
                ],
              })}
            />
          );
        }}
      </Loaded>
    </Page>
  );
}

function CreateCluster({ team, initial }: { readonly team: string; readonly initial: string }) {
  const navigate = useNavigate();
  const [start] = useState(() => ({ name: '', text: initial }));
  const [draft, setDraft, clear] = useDraft(`${team}.create-cluster`, start);
  const name = draft.name.trim();
  const { spec } = readDocument(draft.text);
  const planning = usePlan({ team, name }, spec, null);
  const isTaken = isProblem(planning.error) && planning.error.status === 412;
  const fields = isProblem(planning.error) ? planning.error.fields : [];
  const isDraft = spec !== null && (spec.nodePools ?? []).length === 0;
  return (
    <div className={styles.editor}>
      <div className={styles.fields}>
        <TextInput
          label="Name"
          required
          autoFocus
          maxLength={clusterLimits.clusterNameCharacters}
          value={draft.name}
          onChange={(event) => setDraft({ ...draft, name: event.currentTarget.value })}
          description="Lower-case letters, digits and hyphens. It is fixed at creation."
          error={isTaken ? `A cluster ${name} exists already. Choose another name.` : null}
          autoComplete="off"
          spellCheck={false}
        />
        <ClusterEditor
          team={team}
          text={draft.text}
          onText={(text) => setDraft({ ...draft, text })}
          problems={fields}
          isNew
        />
      </div>
      <PlanPanel
        target={{ team, name }}
        began={null}
        planning={planning}
        action={isDraft ? 'Save draft' : `Create ${name === '' ? 'cluster' : name}`}
        hint={name === '' ? 'Type a name to see what it does and costs.' : 'Planning …'}
        onConflict={() => undefined}
        onApplied={() => {
          clear();
          void navigate({ to: '/teams/$team/clusters/$name', params: { team, name } });
        }}
      />
    </div>
  );
}
