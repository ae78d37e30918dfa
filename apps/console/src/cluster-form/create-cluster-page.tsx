import { type FieldProblem, isCorralError } from '@corral/client';
import { type ClusterSpec, clusterLimits, isClusterName } from '@corral/contracts';
import { Button, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useRef, useState } from 'react';
import { catalogueQuery, clusterQuery, connectionsQuery } from '../api/queries.js';
import { useTeam } from '../shell/use-team.js';
import { Page } from '../ui/page.js';
import { Loaded, Loading } from '../ui/states.js';
import { useDraft } from '../ui/use-draft.js';
import { ClusterEditor } from './cluster-editor.js';
import { isDeclared } from './declared.js';
import styles from './plan.module.css';
import { PlanPanel } from './plan-panel.js';
import { firstTypeIn } from './spec-choices.js';
import { readDocument, textOf } from './spec-document.js';
import { usePlan } from './use-plan.js';

/** Creates a cluster, or a draft that has no pools yet. */
export function CreateClusterPage() {
  const { slug } = useTeam();
  const { like } = useSearch({ from: '/signed-in/teams/$team/clusters/+' });
  const model = useQuery({ ...clusterQuery(slug, like ?? ''), enabled: like !== undefined });
  const connections = useQuery(connectionsQuery(slug));
  const ready = connections.data?.find(({ status }) => status.phase === 'Ready') ?? connections.data?.[0];
  const connectionRef = ready?.metadata.ref;
  const catalogue = useQuery({ ...catalogueQuery(slug, connectionRef), enabled: connections.data !== undefined });
  return (
    <Page>
      <Loaded query={connections} what="connections">
        {() => {
          if (catalogue.data === undefined && catalogue.error === null) return <Loading what="the catalogue" />;
          if (like !== undefined && model.data === undefined && model.error === null) return <Loading what={like} />;
          if (model.data !== undefined) {
            const spec = { ...model.data.spec, hibernated: false };
            return <CreateCluster draftId={`.like.${like}`} initial={textOf(spec)} />;
          }
          const region = catalogue.data?.regions[0]?.name;
          const version = catalogue.data?.kubernetesVersions.find(({ newestOf }) => newestOf !== null)?.newestOf;
          return (
            <CreateCluster
              draftId=""
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

interface CreateClusterProps {
  /** Tells the draft of a copy from that of a cluster from scratch. */
  readonly draftId: string;
  readonly initial: string;
}

function CreateCluster({ draftId, initial }: CreateClusterProps) {
  const { slug: team } = useTeam();
  const navigate = useNavigate();
  const [start] = useState(() => ({ name: '', text: initial }));
  const [draft, setDraft, clear] = useDraft(`${team}.create-cluster${draftId}`, start);
  const [reveal, setReveal] = useState<{ readonly pointer: string } | null>(null);
  const name = draft.name.trim();
  const { spec, problem } = useMemo(() => readDocument(draft.text), [draft.text]);
  const isNameInvalid = name !== '' && !isClusterName(name);
  const planning = usePlan({ team, name }, isNameInvalid ? null : spec, null);
  const error = planning.isCurrent && isCorralError(planning.error) ? planning.error : null;
  const isTaken = error?.status === 412;
  const isDraft = spec !== null && (spec.nodePools ?? []).length === 0;
  const nameField = useRef<HTMLInputElement>(null);
  return (
    <div className={styles.editor}>
      <div className={styles.fields}>
        <TextInput
          ref={nameField}
          label="Name"
          required
          autoFocus
          maxLength={clusterLimits.clusterNameCharacters}
          value={draft.name}
          onChange={(event) => setDraft({ ...draft, name: event.currentTarget.value })}
          description="Lower-case letters, digits and hyphens. It is fixed at creation."
          error={nameErrorOf(name, isTaken, isNameInvalid)}
          autoComplete="off"
          spellCheck={false}
        />
        {isTaken && <Existing name={name} spec={spec} onOpen={clear} />}
        <ClusterEditor
          text={draft.text}
          onText={(text) => setDraft({ ...draft, text })}
          problems={error?.errors ?? NONE}
          isNew
          isStarted={false}
          reveal={reveal}
        />
        {draft.text !== initial && (
          <div>
            <Button onClick={() => setDraft({ ...draft, text: initial })}>Discard changes</Button>
          </div>
        )}
      </div>
      <PlanPanel
        target={{ team, name }}
        began={null}
        planning={planning}
        action={isDraft ? 'Save draft' : `Create ${name === '' ? 'cluster' : name}`}
        hint={isNameInvalid ? 'Correct the name to see what it does and costs.' : hintOf(name, problem)}
        onReveal={(pointer) => setReveal({ pointer })}
        onNothingToPlan={() => (name === '' || isNameInvalid ? nameField.current?.focus() : undefined)}
        onConflict={() => undefined}
        onApplied={() => {
          clear();
          void navigate({ to: '/teams/$team/clusters/$name', params: { team, name } });
        }}
      />
    </div>
  );
}

const NONE: readonly FieldProblem[] = [];
function nameErrorOf(name: string, isTaken: boolean, isInvalid: boolean): string | null {
  if (isTaken) return `A cluster ${name} exists already. Choose another name.`;
  return isInvalid ? 'Use lower-case letters, digits and hyphens, for example web-1.' : null;
}

function hintOf(name: string, problem: { readonly line: number } | null): string {
  if (problem !== null) return `Fix line ${problem.line} of the YAML to see what it does and costs.`;
  return name === '' ? 'Type a name to see what it does and costs.' : 'Planning …';
}

interface ExistingProps {
  readonly name: string;
  readonly spec: Readonly<Partial<ClusterSpec>> | null;
  readonly onOpen: () => void;
}

/** The cluster that has the name. After a lost answer or a reload, it may be the one that was just created. */
function Existing({ name, spec, onOpen }: ExistingProps) {
  const { slug: team } = useTeam();
  const cluster = useQuery({ ...clusterQuery(team, name), retry: false });
  if (cluster.data === undefined) return null;
  const isThis = spec !== null && isDeclared(spec, cluster.data.spec as ClusterSpec);
  return (
    <p role="status">
      {isThis ? `${name} was created as declared here. ` : ''}
      <Link to="/teams/$team/clusters/$name" params={{ team, name }} onClick={isThis ? onOpen : () => undefined}>
        Open {name}
      </Link>
    </p>
  );
}
