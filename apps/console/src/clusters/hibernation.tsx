import type { Cluster, ClusterSpec } from '@corral/contracts';
import { Button } from '@mantine/core';
import { useState } from 'react';
import { useTeam } from '../shell/use-team.js';
import { PlannedChangeDialog } from './planned-change-dialog.js';

type Verb = 'Hibernate' | 'Resume';

/** What can be done with the cluster; null for drafts and clusters under deletion, which neither hibernate nor resume. */
export function hibernationOf({ spec, status: { phase } }: Cluster): Verb | null {
  if (phase === 'Draft' || phase === 'Deleting') return null;
  return spec.hibernated ? 'Resume' : 'Hibernate';
}

interface HibernationDialogProps {
  readonly cluster: Cluster;
  /** What was asked for when the dialog was opened, whatever others do meanwhile. */
  readonly verb: Verb;
  readonly onClose: () => void;
}

/** Hibernates or resumes a cluster, after its plan was shown. */
export function HibernationDialog({ cluster, verb, onClose }: HibernationDialogProps) {
  const { name } = cluster.metadata;
  const hibernated = verb === 'Hibernate';
  const isDone = hibernationOf(cluster) !== verb;
  return (
    <PlannedChangeDialog
      cluster={cluster}
      spec={{ ...(cluster.spec as ClusterSpec), hibernated }}
      action={`${verb} ${name}`}
      onClose={onClose}
      fields={() =>
        isDone && (
          <p role="alert">
            {`Somebody else was first: ${name} is already ${hibernated ? 'hibernated' : 'resumed'}. Nothing is left to do.`}
          </p>
        )
      }
    />
  );
}

/** The button that opens the dialog. */
export function HibernateButton({ cluster }: { readonly cluster: Cluster }) {
  const { can } = useTeam();
  const [opened, setOpened] = useState<Verb | null>(null);
  const { name } = cluster.metadata;
  const verb = hibernationOf(cluster);
  if (verb === null || !can('putCluster')) return null;
  return (
    <>
      <Button onClick={() => setOpened(verb)} aria-label={`${verb} ${name}`}>
        {verb}
      </Button>
      {opened !== null && <HibernationDialog cluster={cluster} verb={opened} onClose={() => setOpened(null)} />}
    </>
  );
}
