import type { Cluster, ClusterSpec } from '@corral/contracts';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { teamKey } from '../api/queries.js';
import styles from '../cluster-form/plan.module.css';
import { useTeam } from '../shell/use-team.js';
import { DangerDialog } from '../ui/danger.js';
import { costText } from '../ui/money.js';
import { RecordSetsLost } from '../ui/record-sets-lost.js';
import { Failed, Loading } from '../ui/states.js';
import { useReturnFocus } from '../ui/use-return-focus.js';
import { type DeletionPlan, deleteAsPlanned, planDeletion } from './deletion.js';
import { PlannedChangeDialog } from './planned-change-dialog.js';

interface DeleteClusterProps {
  readonly cluster: Cluster;
  readonly onClose: () => void;
}

/** Deletes the cluster. One that is protected offers to lift the protection first. */
export function DeleteCluster({ cluster, onClose }: DeleteClusterProps) {
  const { metadata, spec } = cluster;
  if (!spec.deletionProtection) return <ConfirmDeletion cluster={cluster} onClose={onClose} />;
  return (
    <PlannedChangeDialog
      cluster={cluster}
      spec={{ ...(spec as ClusterSpec), deletionProtection: false }}
      action={`Lift the protection of ${metadata.name}`}
      onClose={onClose}
      fields={() => <p>{metadata.name} is protected from deletion. Lift the protection first, then delete it.</p>}
    />
  );
}

/** Shows what is lost, and asks for the name. */
function ConfirmDeletion({ cluster, onClose }: DeleteClusterProps) {
  const { slug: team } = useTeam();
  const cache = useQueryClient();
  const { name, etag } = cluster.metadata;
  const [plan, setPlan] = useState<DeletionPlan | null>(null);
  const [hasChanged, setChanged] = useState(false);
  const planning = useMutation({ mutationFn: (tag: string) => planDeletion({ team, name }, tag), onSuccess: setPlan });
  const { mutate: makePlan } = planning;
  const [firstTag] = useState(etag);
  useEffect(() => makePlan(firstTag), [makePlan, firstTag]);
  useReturnFocus();
  const remove = useMutation({
    mutationFn: (chosen: DeletionPlan) => deleteAsPlanned({ team, name }, chosen),
    onSuccess: (changed) => {
      setPlan(changed);
      setChanged(changed !== null);
      void cache.invalidateQueries({ queryKey: teamKey(team) });
      if (changed === null) onClose();
    },
  });
  return (
    <DangerDialog
      opened
      onClose={onClose}
      title={`Delete ${name}`}
      confirmation={name}
      action="Delete cluster"
      onConfirm={() => plan !== null && remove.mutate(plan)}
      isPending={remove.isPending}
      error={remove.error}
    >
      {planning.isPending && <Loading what="what is lost" />}
      {planning.error !== null && (
        <Failed error={planning.error} what="The deletion could not be planned." onRetry={() => makePlan(etag)} />
      )}
      {hasChanged && <p role="alert">{name} has changed, and nothing was deleted. Read again what is lost.</p>}
      {plan !== null && <Loss plan={plan} />}
    </DangerDialog>
  );
}

function Loss({ plan: { answer } }: { readonly plan: DeletionPlan }) {
  const { deletes, resource, recordSets } = answer;
  return (
    <>
      <p>{deletes.length === 0 ? 'This deletes the draft only.' : 'This cannot be undone. It deletes:'}</p>
      <ul className={styles.bullets} aria-label="What is deleted">
        {deletes.map(({ kind, name, note }) => (
          <li key={`${kind} ${name ?? ''}`}>
            {name !== null && <span className="mono">{name}: </span>}
            {note}
          </li>
        ))}
      </ul>
      <RecordSetsLost recordSets={recordSets} />
      <p className="numeric">Saves {costText(resource.status.cost)} a month, net, nodes only.</p>
    </>
  );
}
