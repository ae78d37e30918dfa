import { type FieldProblem, isCorralError } from '@corral/client';
import type { Cluster, ClusterSpec } from '@corral/contracts';
import { Modal, Stack } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { teamKey } from '../api/queries.js';
import { PlanPanel } from '../cluster-form/plan-panel.js';
import { usePlan } from '../cluster-form/use-plan.js';
import { useTeam } from '../shell/use-team.js';
import { useReturnFocus } from '../ui/use-return-focus.js';

export interface PlannedChangeDialogProps {
  /** The cluster as it is now, so that the plan stays that of its present state. */
  readonly cluster: Cluster;
  /** The whole specification that is wanted. */
  readonly spec: ClusterSpec;
  /** Verb and object, such as `Hibernate web`. */
  readonly action: string;
  readonly onClose: () => void;
  readonly onApplied?: () => void;
  /** Fields above the plan, with the problems that the API found. */
  readonly fields?: (problems: readonly FieldProblem[]) => ReactNode;
}

/** Shows what a single change does, and applies it. */
export function PlannedChangeDialog(props: PlannedChangeDialogProps) {
  const { slug: team } = useTeam();
  const { cluster, spec, action, onClose, onApplied, fields } = props;
  const { name, etag } = cluster.metadata;
  const cache = useQueryClient();
  const [isConflict, setConflict] = useState(false);
  const planning = usePlan({ team, name }, spec, etag);
  useReturnFocus();
  return (
    <Modal opened onClose={onClose} title={action} size="lg">
      <Stack>
        {isConflict && (
          <p role="alert">
            Another person changed {name} meanwhile, and nothing was applied. Read the plan for its present state, then
            apply.
          </p>
        )}
        {fields?.(planning.isCurrent && isCorralError(planning.error) ? planning.error.errors : [])}
        <PlanPanel
          target={{ team, name }}
          began={cluster}
          planning={planning}
          action={action}
          hint="Planning …"
          onCancel={onClose}
          onApplied={() => {
            onApplied?.();
            onClose();
          }}
          onConflict={() => {
            setConflict(true);
            void cache.invalidateQueries({ queryKey: teamKey(team) });
          }}
        />
      </Stack>
    </Modal>
  );
}
