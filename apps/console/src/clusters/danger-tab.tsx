import type { Cluster, ClusterAnswerBody } from '@corral/contracts';
import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { change } from '../api/client.js';
import { teamKey } from '../api/queries.js';
import { DangerDialog } from '../ui/danger-dialog.js';
import { moneyDifference } from '../ui/money.js';
import { Section } from '../ui/page.js';
import { Failed } from '../ui/states.js';

const PATH = '/api/v1/teams/{team}/clusters/{name}/';

/** Deletes the cluster, after it was shown what is lost. */
export function DangerTab({ team, cluster }: { readonly team: string; readonly cluster: Cluster }) {
  const cache = useQueryClient();
  const { name } = cluster.metadata;
  const plan = useMutation({
    mutationFn: async () => {
      const { body } = await change('delete', PATH, { team, name }, { query: { dryRun: true } });
      return body as ClusterAnswerBody<'deletionDryRun'>;
    },
  });
  const remove = useMutation({
    mutationFn: () => change('delete', PATH, { team, name }, { ifMatch: cluster.metadata.etag }),
    onSuccess: () => {
      plan.reset();
      void cache.invalidateQueries({ queryKey: teamKey(team) });
    },
  });
  if (cluster.status.phase === 'Deleting') return <p role="status">Deleting. Its operation shows the progress.</p>;
  return (
    <Section title="Delete cluster">
      <p>Deletes {name} with its nodes, volumes and load balancers. This cannot be undone.</p>
      <div>
        <Button color="bad" loading={plan.isPending} onClick={() => plan.mutate()}>
          Delete {name}
        </Button>
      </div>
      {plan.error !== null && <Failed error={plan.error} what="What the deletion does could not be found out." />}
      {plan.data !== undefined && (
        <DangerDialog
          opened
          onClose={() => plan.reset()}
          title={`Delete ${name}`}
          confirmation={name}
          action="Delete cluster"
          onConfirm={() => remove.mutate()}
          isPending={remove.isPending}
          error={remove.error}
        >
          <ul>
            {plan.data.deletes.map(({ kind, name: what, count, note }) => (
              <li key={`${kind} ${what ?? ''}`}>
                {kind} {what ?? ''} {count !== null && `(${count})`} {note}
              </li>
            ))}
          </ul>
          <p>Per month: {moneyDifference(plan.data.costDifference.monthly, cluster.status.cost.currency)}.</p>
        </DangerDialog>
      )}
    </Section>
  );
}
