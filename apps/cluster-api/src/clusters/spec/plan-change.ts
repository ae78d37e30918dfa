import type { ClusterSpec, ConnectionId, ConnectionPhase } from '@corral/contracts';
import type { CloudProfile, GardenFeature } from '@corral/garden';
import { checkCatalogue, needsCatalogue } from '../../catalogue/catalogue-rules.js';
import type { KnownPrices } from '../../catalogue/prices.js';
import { autoscalerPriorities } from '../../node-pools/autoscaler-priorities.js';
import { checkLastPool, checkPools } from '../../node-pools/pool-rules.js';
import { hasWorkers, type PoolPointers } from '../../node-pools/pool-spec.js';
import { invalidField, Problem, unsupportedByGarden } from '../../problem.js';
import { type AcceptedStatus, acceptedStatus } from '../accepted-status.js';
import type { ClusterRecord } from '../record.js';
import type { UsableConnection } from '../transaction.js';
import { type AcceptedDeclaration, decideDeclaration } from './decide-declaration.js';
import { checkNetwork } from './network-rules.js';
import { type ClusterQuotas, checkClusterQuota, checkPoolQuotas } from './quotas.js';
import { differencesOf, type SpecDifference } from './spec-difference.js';

/** The facts that a change is checked against, read while the cluster is locked. */
export interface ChangeContext {
  readonly quotas: ClusterQuotas;
  readonly clustersOfTeam: number;
  /** The installation requires a subscription to start clusters, and the team has no active one. */
  readonly lacksSubscription: boolean;
  /** The connection named by the specification. Null when the team has none with that ref. */
  readonly connection: UsableConnection | null;
  /** Null when it was not read. Most changes do not need it. */
  readonly catalogue: CloudProfile | null;
  readonly features: ReadonlySet<GardenFeature>;
  readonly pointers: PoolPointers;
  readonly now: Date;
}

export type Plan =
  | { readonly kind: 'unchanged' }
  /** The change must be checked against the catalogue, but the context has none. */
  | { readonly kind: 'catalogueNeeded' }
  | AcceptedPlan;

export interface AcceptedPlan extends AcceptedDeclaration {
  readonly spec: ClusterSpec;
  readonly connectionId: ConnectionId;
  readonly prices: KnownPrices | null;
  /** Autoscaler priorities of the node pools, by name. */
  readonly priorities: ReadonlyMap<string, number>;
  /** The status shown until a pass observes the cluster. */
  readonly shown: AcceptedStatus;
  readonly differences: readonly SpecDifference[];
}

/**
 * Decides what a specification means for a cluster, and whether it may be accepted.
 *
 * @param current the stored cluster, or null when the team has none with that name
 * @throws Problem when the change cannot be accepted
 */
export function planChange(current: ClusterRecord | null, desired: ClusterSpec, context: ChangeContext): Plan {
  const declaration = decideDeclaration(current, desired);
  if (declaration.kind === 'unchanged') return declaration;
  const { quotas, pointers, catalogue, now } = context;
  const present = current?.spec ?? null;
  // Quota and subscription come first: fixing other fields would not help without them.
  if (present === null) checkClusterQuota(context.clustersOfTeam, quotas);
  if (context.lacksSubscription && !declaration.isDraft) refuseToStart(current);
  if (present === null || changesNetwork(present, desired)) checkNetwork(desired.network, context);
  checkPools(present, desired, context);
  if (current?.startedAt) checkLastPool(desired);
  checkPoolQuotas(present, desired, quotas, pointers);
  checkFeatures(present, desired, context);
  const { id: connectionId, prices } = checkConnection(declaration, context);
  if (needsCatalogue(current, desired)) {
    if (catalogue === null) return { kind: 'catalogueNeeded' };
    checkCatalogue(current, desired, { ...context, catalogue });
  }
  const requested = { kind: 'declare', hibernated: desired.hibernated, isDraft: declaration.isDraft } as const;
  return {
    ...declaration,
    spec: desired,
    connectionId,
    prices,
    priorities: autoscalerPriorities(desired, prices),
    shown: acceptedStatus(current, requested, now),
    differences: differencesOf(present, desired),
  };
}

/** Only starting a draft needs a subscription. Clusters that were started or have workers continue without one. */
function refuseToStart(current: ClusterRecord | null): void {
  if (current !== null && (current.startedAt !== null || hasWorkers(current.spec))) return;
  throw new Problem(
    'subscription_required',
    'The team has no active subscription, so it can only declare drafts. Omit managed node pools, or ' +
      'subscribe first.',
  );
}

function changesNetwork(present: ClusterSpec, desired: ClusterSpec): boolean {
  return differencesOf(present, { ...present, network: desired.network }).length > 0;
}

function checkFeatures(present: ClusterSpec | null, desired: ClusterSpec, { features }: ChangeContext): void {
  if (!desired.controlPlaneHA || present?.controlPlaneHA || features.has('control-plane-ha')) return;
  throw unsupportedByGarden('control-plane-ha', '/spec/controlPlaneHA', 'is not supported here. Omit it');
}

/** A draft needs a working connection only when it starts. */
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
