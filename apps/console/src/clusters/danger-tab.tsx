import type { Cluster } from '@corral/contracts';
import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { teamKey } from '../api/queries.js';
import styles from '../cluster-form/plan.module.css';
import { EffectList } from '../cluster-form/plan-view.js';
import { DangerDialog } from '../ui/danger-dialog.js';
import { costText } from '../ui/money.js';
import { Section } from '../ui/page.js';
import { Failed } from '../ui/states.js';
import { type DeletionPlan, deleteAsPlanned, planDeletion } from './deletion.js';

/** Deletes the cluster, after it was shown what is lost. */
export function DangerTab({ team, cluster }: { readonly team: string; readonly cluster: Cluster }) {
  const cache = useQueryClient();
  const { name, etag } = cluster.metadata;
  const [plan, setPlan] = useState<DeletionPlan | null>(null);
  const [hasChanged, setChanged] = useState(false);
  const planning = useMutation({ mutationFn: () => planDeletion({ team, name }, etag), onSuccess: setPlan });
  const remove = useMutation({
    mutationFn: (chosen: DeletionPlan) => deleteAsPlanned({ team, name }, chosen),
    onSuccess: (changed) => {
      setPlan(changed);
      setChanged(changed !== null);
      void cache.invalidateQueries({ queryKey: teamKey(team) });
    },
  });
  const { lastOperation, phase } = cluster.status;
  if (phase === 'Deleting') {
    return (
      <p role="status">
        Deleting.{' '}
        {lastOperation !== null && (
          <Link to="/teams/$team/operations/$id" params={{ team, id: lastOperation.id }}>
            Follow the deletion
          </Link>
        )}
      </p>
    );
  }
  return (
    <Section title="Delete cluster">
      <p>Deletes {name} with its nodes, volumes and load balancers. This cannot be undone.</p>
      <div>
        <Button color="bad" loading={planning.isPending} onClick={() => planning.mutate()}>
          Delete {name}
        </Button>
      </div>
      {planning.error !== null && <Failed error={planning.error} what="The deletion could not be planned." />}
      {plan !== null && (
        <DangerDialog
          opened
          onClose={() => {
            setPlan(null);
            setChanged(false);
            remove.reset();
          }}
          title={`Delete ${name}`}
          confirmation={name}
          action="Delete cluster"
          onConfirm={() => remove.mutate(plan)}
          isPending={remove.isPending}
          error={remove.error}
        >
          {hasChanged && <p role="alert">{name} has changed, and nothing was deleted. Read again what is lost.</p>}
          <Loss plan={plan} />
        </DangerDialog>
      )}
    </Section>
  );
}

function Loss({ plan: { answer } }: { readonly plan: DeletionPlan }) {
  const { deletes, effects, resource } = answer;
  return (
    <>
      <ul className={styles.list} aria-label="What is deleted">
        {deletes.map(({ kind, name, count, note }) => (
          <li key={`${kind} ${name ?? ''}`}>
            {kind} <span className="mono">{name ?? ''}</span> {count !== null && `(${count})`} {note}
          </li>
        ))}
      </ul>
      <EffectList effects={effects} />
      <p className="numeric">Saves {costText(resource.status.cost)} per month, net, nodes only.</p>
    </>
  );
}
