import {
  type ClusterPhase,
  type Condition,
  type ConditionReason,
  type ConditionType,
  driftConditionType,
} from '@corral/contracts';
import type { ClusterRecord } from '../store.js';

/** The status shown from the moment a change is accepted until the first pass observes the cluster. */
export interface AcceptedStatus {
  readonly phase: ClusterPhase;
  readonly conditions: readonly Condition[];
}

/** The stored fields that the accepted status depends on. */
type Present = Pick<ClusterRecord, 'spec' | 'phase' | 'conditions' | 'observedGeneration' | 'startedAt'>;

/** What an accepted change asks for. */
export type RequestedState =
  | { readonly kind: 'declare'; readonly hibernated: boolean; readonly isDraft: boolean }
  | { readonly kind: 'delete' };

/**
 * Returns the status to store in the same commit as an accepted change. A client that then waits for `Ready` waits for
 * this change, not for the previous state.
 *
 * @param present the stored cluster, or null for a new one
 */
export function acceptedStatus(present: Present | null, requested: RequestedState, now: Date): AcceptedStatus {
  if (requested.kind === 'declare' && (present === null || present.startedAt === null)) {
    const conditions = conditionsBeforeStart(requested.isDraft, present?.conditions ?? [], now);
    return { phase: requested.isDraft ? 'Draft' : 'Pending', conditions };
  }
  const { conditions, ...cluster } = present as Present;
  return { phase: phaseOf(cluster, requested), conditions: queued(conditions, now) };
}

function phaseOf(
  { spec, phase, observedGeneration }: Omit<Present, 'conditions'>,
  requested: RequestedState,
): ClusterPhase {
  if (requested.kind === 'delete') return 'Deleting';
  // Never reconciled yet: the cluster is still being created, whatever the change asks for.
  if (observedGeneration === 0) return phase === 'Provisioning' ? phase : 'Pending';
  if (requested.hibernated !== spec.hibernated) return requested.hibernated ? 'Hibernating' : 'Resuming';
  return phase === 'Hibernating' || phase === 'Resuming' ? phase : 'Updating';
}

type ConditionDraft = readonly [
  type: ConditionType,
  status: Condition['status'],
  reason: ConditionReason,
  message: string,
];

const specAccepted: ConditionDraft = ['SpecAccepted', 'True', 'Accepted', 'The specification was checked and stored.'];

/**
 * Keeps observed conditions. Replaces those about an earlier specification. Drift goes: the change sets it back, and a pass reports what
 * others change after it.
 */
function queued(present: readonly Condition[], now: Date): Condition[] {
  const replaced = [
    condition(present, now, specAccepted),
    condition(present, now, ['Reconciled', 'False', 'Queued', 'The change was accepted and is queued.']),
  ];
  const kept = present
    .filter(({ type }) => type !== driftConditionType)
    .map((known) => replaced.find(({ type }) => type === known.type) ?? known);
  return [...kept, ...replaced.filter(({ type }) => !present.some((known) => known.type === type))];
}

/** The conditions of a cluster that the garden does not know yet. From the first pass on, passes write them. */
function conditionsBeforeStart(isDraft: boolean, previous: readonly Condition[], now: Date): Condition[] {
  const drafts: readonly ConditionDraft[] = [
    specAccepted,
    ['ConnectionReady', 'Unknown', 'NotStarted', 'The connection is used when the cluster starts.'],
    ['ControlPlaneReady', 'False', 'NotStarted', 'The control plane is created when the cluster starts.'],
    ['NodesReady', 'False', 'NotStarted', 'Nodes are created when the cluster starts.'],
    isDraft
      ? [
          'Reconciled',
          'False',
          'AwaitingNodePools',
          'Add a managed node pool with a maximum above zero to start the cluster.',
        ]
      : ['Reconciled', 'False', 'Queued', 'The cluster is queued to start.'],
  ];
  return drafts.map((draft) => condition(previous, now, draft));
}

/** Keeps the transition time of a condition whose status does not change. */
function condition(
  previous: readonly Condition[],
  now: Date,
  [type, status, reason, message]: ConditionDraft,
): Condition {
  const before = previous.find((known) => known.type === type && known.status === status);
  return { type, status, reason, message, lastTransitionTime: before?.lastTransitionTime ?? now.toISOString() };
}
