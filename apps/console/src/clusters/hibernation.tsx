import type { Cluster, ClusterSpec } from '@corral/contracts';
import { Button } from '@mantine/core';
import { useState } from 'react';
import { useTeam } from '../shell/use-team.js';
import { PlannedChangeDialog } from './planned-change-dialog.js';

/** How to hibernate or resume the cluster; null for drafts and clusters under deletion, which do neither. */
export function hibernationOf({ spec, status: { phase } }: Cluster) {
  if (phase === 'Draft' || phase === 'Deleting') return null;
  const verb = spec.hibernated ? ('Resume' as const) : ('Hibernate' as const);
  return { verb, spec: { ...(spec as ClusterSpec), hibernated: !spec.hibernated } };
}

/** Hibernates or resumes a cluster, after its plan was shown. */
export function HibernateButton({ team, cluster }: { readonly team: string; readonly cluster: Cluster }) {
  const { can } = useTeam();
  const [isOpen, setOpen] = useState(false);
  const { name } = cluster.metadata;
  const hibernation = hibernationOf(cluster);
  if (hibernation === null || !can('putCluster')) return null;
  const { verb, spec } = hibernation;
  return (
    <>
      <Button onClick={() => setOpen(true)} aria-label={`${verb} ${name}`}>
        {verb}
      </Button>
      {isOpen && (
        <PlannedChangeDialog
          team={team}
          cluster={cluster}
          spec={spec}
          action={`${verb} ${name}`}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}
