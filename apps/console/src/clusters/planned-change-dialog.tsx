import type { Cluster, ClusterSpec } from '@corral/contracts';
import { Modal } from '@mantine/core';
import { useState } from 'react';
import { PlanPanel } from '../cluster-form/plan-panel.js';
import { usePlan } from '../cluster-form/use-plan.js';

export interface PlannedChangeDialogProps {
  readonly team: string;
  readonly cluster: Cluster;
  /** The whole specification that is wanted. */
  readonly spec: ClusterSpec;
  /** Verb and object, such as `Hibernate web`. */
  readonly action: string;
  readonly onClose: () => void;
}

/** Shows what a single change does, and applies it. */
export function PlannedChangeDialog({ team, cluster, spec, action, onClose }: PlannedChangeDialogProps) {
  const { name, etag } = cluster.metadata;
  const [began] = useState(cluster);
  const [isConflict, setConflict] = useState(false);
  const planning = usePlan({ team, name }, spec, etag);
  return (
    <Modal opened onClose={onClose} title={action} size="lg">
      {isConflict && (
        <p role="alert">Another person changed {name} meanwhile. Nothing was applied. Close this and begin again.</p>
      )}
      <PlanPanel
        target={{ team, name }}
        began={began}
        planning={planning}
        action={action}
        hint="Planning …"
        onApplied={onClose}
        onConflict={() => setConflict(true)}
      />
    </Modal>
  );
}
