import type { Cluster, ClusterSpec } from '@corral/contracts';
import { Button } from '@mantine/core';
import { useState } from 'react';
import { PlannedChangeDialog } from './planned-change-dialog.js';

/** Hibernates or resumes a cluster, after its plan was shown. Drafts and clusters under deletion do neither. */
export function HibernateButton({ team, cluster }: { readonly team: string; readonly cluster: Cluster }) {
  const [isOpen, setOpen] = useState(false);
  const { name } = cluster.metadata;
  const { hibernated } = cluster.spec;
  if (cluster.status.phase === 'Draft' || cluster.status.phase === 'Deleting') return null;
  const verb = hibernated ? 'Resume' : 'Hibernate';
  return (
    <>
      <Button onClick={() => setOpen(true)} aria-label={`${verb} ${name}`}>
        {verb}
      </Button>
      {isOpen && (
        <PlannedChangeDialog
          team={team}
          cluster={cluster}
          spec={{ ...(cluster.spec as ClusterSpec), hibernated: !hibernated }}
          action={`${verb} ${name}`}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}
