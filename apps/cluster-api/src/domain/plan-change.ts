import type { ClusterSpec, ConnectionPhase } from '@corral/contracts';
import type { CloudProfile, GardenFeature } from '@corral/garden';
import { invalidField, Problem } from '../problem.js';
import { type AcceptedStatus, acceptedStatus } from './accepted-status.js';
import { autoscalerPriorities } from './autoscaler-priorities.js';
import { checkCatalogue, needsCatalogue } from './catalogue-rules.js';
import { type Change, changesOf } from './changes.js';
import type { ClusterRecord } from './cluster-record.js';
import type { UsableConnection } from './cluster-transaction.js';
import { hasWorkers } from './complete-spec.js';
import { type AcceptedDeclaration, decideDeclaration } from './decide-declaration.js';
import { lacksFeature } from './lacks-feature.js';
import { checkNetwork } from './network-rules.js';
import type { Places } from './places.js';
import { checkLastPool, checkPools } from './pool-rules.js';
import type { KnownPrices } from './prices.js';
import { type ClusterQuotas, checkClusterQuota, checkPoolQuotas } from './quotas.js';

/** What a change is held against, as it stands while the cluster is locked. */
export interface ChangeContext {
  readonly quotas: ClusterQuotas;
  readonly clustersOfTeam: number;
  /** The team would need an active subscription to start a cluster, and has none. */
  readonly lacksSubscription: boolean;
  /** The one that the specification names; null when the team has none by that ref. */
  readonly connection: UsableConnection | null;
  /** Null when it has not been read: most changes need none. */
  readonly catalogue: CloudProfile | null;
  readonly features: ReadonlySet<GardenFeature>;
  readonly places: Places;
  readonly now: Date;
}

export type Plan =
  | { readonly kind: 'unchanged' }
  /** Read the catalogue, then plan again. */
  | { readonly kind: 'catalogueNeeded' }
  | AcceptedPlan;

export interface AcceptedPlan extends AcceptedDeclaration {
  readonly spec: ClusterSpec;
  readonly connectionId: string;
  readonly prices: KnownPrices | null;
  /** Of its node pools, by name. */
  readonly priorities: ReadonlyMap<string, number>;
  /** What is shown until a pass has looked at the cluster. */
  readonly shown: AcceptedStatus;
  readonly changes: readonly Change[];
}

/**
 * Decides what a specification means for a cluster, and whether it may be accepted.
 *
 * @param current the stored cluster, or null when the team has none by that name
 * @throws Problem for what cannot be accepted
 */
export function planChange(current: ClusterRecord | null, desired: ClusterSpec, context: ChangeContext): Plan {
  const declaration = decideDeclaration(current, desired);
  if (declaration.kind === 'unchanged') return declaration;
  const { quotas, places, catalogue, now } = context;
  const present = current?.spec ?? null;
  // Whoever may not have the cluster need not be told what else is wrong with it.
  if (present === null) checkClusterQuota(context.clustersOfTeam, quotas);
  if (context.lacksSubscription && !declaration.isDraft) refuseToStart(current);
  if (present === null || changesNetwork(present, desired)) checkNetwork(desired.network, context);
  checkPools(present, desired, context);
  if (current?.startedAt) checkLastPool(desired);
  checkPoolQuotas(present, desired, quotas, places);
  checkFeatures(present, desired, context);
  const { id: connectionId, prices } = checkConnection(declaration, context);
  if (needsCatalogue(current, desired)) {
    if (catalogue === null) return { kind: 'catalogueNeeded' };
    checkCatalogue(current, desired, { ...context, catalogue });
  }
  const wish = { kind: 'declare', hibernated: desired.hibernated, isDraft: declaration.isDraft } as const;
  return {
    ...declaration,
    spec: desired,
    connectionId,
    prices,
    priorities: autoscalerPriorities(desired, prices),
    shown: acceptedStatus(current, wish, now),
    changes: changesOf(present, desired),
  };
}

/** What was started, or is about to be, goes on without a subscription: only drafts become more than that with one. */
function refuseToStart(current: ClusterRecord | null): void {
  if (current !== null && (current.startedAt !== null || hasWorkers(current.spec))) return;
  throw new Problem(
    'subscription_required',
    'The team has no active subscription, so it can only declare drafts. Omit managed node pools, or ' +
      'subscribe first.',
  );
}

function changesNetwork(present: ClusterSpec, desired: ClusterSpec): boolean {
  return changesOf(present, { ...present, network: desired.network }).length > 0;
}

function checkFeatures(present: ClusterSpec | null, desired: ClusterSpec, { features }: ChangeContext): void {
  if (!desired.controlPlaneHA || present?.controlPlaneHA || features.has('control-plane-ha')) return;
  throw lacksFeature('control-plane-ha', '/spec/controlPlaneHA', 'is not supported here. Omit it');
}

/** A draft needs its connection only once it starts. */
function checkConnection({ isDraft }: { isDraft: boolean }, { connection }: ChangeContext): UsableConnection {
  if (connection === null) {
    throw invalidField('validation_failed', '/spec/connectionRef', 'must be the ref of a connection of the team');
  }
  if (!isDraft) refuseRejected(connection);
  return connection;
}

/** @throws Problem `connection_rejected` */
export function refuseRejected({ phase }: { readonly phase: ConnectionPhase }): void {
  if (phase !== 'Rejected') return;
  throw new Problem(
    'connection_rejected',
    'The provider does not accept the token of the connection, or the token is read-only, so the change cannot be carried ' +
      'out. Replace it with a token with read and write access first.',
  );
}
