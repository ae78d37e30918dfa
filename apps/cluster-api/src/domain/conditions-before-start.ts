import type { Condition, ConditionType } from '@corral/contracts';

/**
 * The conditions of a cluster that the garden has not heard of. From its first pass on, they are what a pass observes.
 *
 * @param previous those that it has; one whose status stays keeps the time of its last transition
 */
export function conditionsBeforeStart(
  { isDraft }: { readonly isDraft: boolean },
  previous: readonly Condition[],
  now: Date,
): Condition[] {
  const condition = (type: ConditionType, status: Condition['status'], reason: string, message: string): Condition => {
    const before = previous.find((known) => known.type === type && known.status === status);
    return { type, status, reason, message, lastTransitionTime: before?.lastTransitionTime ?? now.toISOString() };
  };
  return [
    condition('SpecAccepted', 'True', 'Accepted', 'The specification was checked and stored.'),
    condition('ConnectionReady', 'Unknown', 'NotStarted', 'The connection is used once the cluster starts.'),
    condition('ControlPlaneReady', 'False', 'NotStarted', 'The control plane is made once the cluster starts.'),
    condition('NodesReady', 'False', 'NotStarted', 'Nodes are made once the cluster starts.'),
    isDraft
      ? condition(
          'Reconciled',
          'False',
          'AwaitingNodePools',
          'Add a managed node pool that may have nodes: it starts the cluster.',
        )
      : condition('Reconciled', 'False', 'Queued', 'The cluster is about to be started.'),
  ];
}
