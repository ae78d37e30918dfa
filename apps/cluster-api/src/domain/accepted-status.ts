import type { ClusterPhase, Condition, ConditionType } from '@corral/contracts';
import type { ClusterRecord } from './cluster-record.js';

/** What a cluster says of itself from the moment on at which a change is accepted, until a pass has looked at it. */
export interface AcceptedStatus {
  readonly phase: ClusterPhase;
  readonly conditions: readonly Condition[];
}

/** What of a stored cluster is changed. */
type Present = Pick<ClusterRecord, 'spec' | 'phase' | 'conditions' | 'observedGeneration' | 'startedAt'>;

/** What an accepted change asks for. */
export type Wish =
  | { readonly kind: 'declare'; readonly hibernated: boolean; readonly isDraft: boolean }
  | { readonly kind: 'delete' };

/**
 * The status that goes with an accepted change, in the same commit: whoever waits for `Ready` after it waits for the
 * change, and not for what was there before.
 *
 * @param present the stored cluster, or null for a new one
 */
export function acceptedStatus(present: Present | null, wish: Wish, now: Date): AcceptedStatus {
  if (wish.kind === 'declare' && (present === null || present.startedAt === null)) {
    const conditions = conditionsBeforeStart(wish.isDraft, present?.conditions ?? [], now);
    return { phase: wish.isDraft ? 'Draft' : 'Pending', conditions };
  }
  const { conditions, ...cluster } = present as Present;
  return { phase: phaseOf(cluster, wish), conditions: queued(conditions, now) };
}

function phaseOf({ spec, phase, observedGeneration }: Omit<Present, 'conditions'>, wish: Wish): ClusterPhase {
  if (wish.kind === 'delete') return 'Deleting';
  // What has never been there is still to be made, whatever else is wished by now.
  if (observedGeneration === 0) return phase === 'Provisioning' ? phase : 'Pending';
  if (wish.hibernated !== spec.hibernated) return wish.hibernated ? 'Hibernating' : 'Resuming';
  return phase === 'Hibernating' || phase === 'Resuming' ? phase : 'Updating';
}

type Draft = readonly [type: ConditionType, status: Condition['status'], reason: string, message: string];

const specAccepted: Draft = ['SpecAccepted', 'True', 'Accepted', 'The specification was checked and stored.'];

/** What was seen of the cluster stands; what was said of an earlier specification does not. */
function queued(present: readonly Condition[], now: Date): Condition[] {
  const said = [
    condition(present, now, specAccepted),
    condition(present, now, ['Reconciled', 'False', 'Queued', 'The change was accepted and is queued.']),
  ];
  const kept = present.map((known) => said.find(({ type }) => type === known.type) ?? known);
  return [...kept, ...said.filter(({ type }) => !present.some((known) => known.type === type))];
}

/** The conditions of a cluster that the garden has not heard of. From its first pass on, they are what a pass observes. */
function conditionsBeforeStart(isDraft: boolean, previous: readonly Condition[], now: Date): Condition[] {
  const drafts: readonly Draft[] = [
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

/** One whose status stays keeps the time of its last transition. */
function condition(previous: readonly Condition[], now: Date, [type, status, reason, message]: Draft): Condition {
  const before = previous.find((known) => known.type === type && known.status === status);
  return { type, status, reason, message, lastTransitionTime: before?.lastTransitionTime ?? now.toISOString() };
}
