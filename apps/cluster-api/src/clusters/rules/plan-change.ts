import type { KnownPrices } from '@corral/cluster-data';
import {
  asClusterId,
  type ChangeEffect,
  type ClusterSpec,
  type ConnectionId,
  type ConnectionPhase,
  type FieldChange,
  type NodePoolSpecInput,
} from '@corral/contracts';
import type { CloudProfile, GardenFeature } from '@corral/garden';
import type { ClusterQuotas, QuotaOverrides } from '../../app-config.js';
import { checkCatalogue, isPinnedTo, needsCatalogue, resolveVersion } from '../../catalogue/rules.js';

import {
  autoscalerPriorities,
  checkLastPool,
  checkPools,
  hasWorkers,
  nodesMaxOf,
  type PoolPointers,
} from '../../node-pools/rules.js';

import { checkAll, invalidField, Problem, unsupportedByGarden } from '../../problem.js';
import type { ClusterRecord, UsableConnection } from '../store.js';
import {
  type AcceptedDeclaration,
  type AcceptedStatus,
  acceptedStatus,
  checkImmutable,
  decideDeclaration,
} from './declaration.js';
import { effectsOf, presentVersionOf } from './effects.js';
import { checkNetwork } from './network-rules.js';
import { checkSchedule } from './schedule-rules.js';
import { differencesOf } from './specification.js';

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
  /** The pools that the request declares, without defaults. */
  readonly declaredPools?: readonly NodePoolSpecInput[] | undefined;
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
  readonly differences: readonly FieldChange[];
  /** What the change does to the cluster and its nodes. */
  readonly effects: readonly ChangeEffect[];
}

/**
 * Decides what a specification means for a cluster, and whether it may be accepted.
 *
 * @param current the stored cluster, or null when the team has none with that name
 * @throws Problem when the change cannot be accepted, with every reason for it. While the catalogue is unavailable, what
 *   depends on it is not checked
 */
export function planChange(current: ClusterRecord | null, desired: ClusterSpec, context: ChangeContext): Plan {
  const declaration = decideDeclaration(current, desired);
  if (declaration.kind === 'unchanged') return declaration;
  const { quotas, pointers, catalogue, connection, now } = context;
  const present = current?.spec ?? null;
  const lacksCatalogue = catalogue === null && needsCatalogue(current, desired);
  checkAll([
    () => {
      if (current !== null) checkImmutable(current, desired);
    },
    // Quota and subscription come first: fixing other fields would not help without them.
    () => {
      if (present === null) checkClusterQuota(context.clustersOfTeam, quotas);
    },
    () => {
      if (context.lacksSubscription && !declaration.isDraft) refuseToStart(current, pointers);
    },
    () => {
      if (present === null || changesNetwork(present, desired)) checkNetwork(desired.network, context);
    },
    () => {
      if (desired.hibernationSchedule !== undefined) checkSchedule(desired.hibernationSchedule);
    },
    () => checkPools(present, desired, context),
    () => {
      if (current?.startedAt) checkLastPool(current.spec, desired, pointers);
    },
    () => checkPoolQuotas(present, desired, quotas, pointers),
    () => checkFeatures(present, desired, context),
    () => checkConnection(declaration, context),
    () => {
      if (catalogue !== null) checkCatalogue(current, desired, { ...context, catalogue });
    },
  ]);
  if (lacksCatalogue) return { kind: 'catalogueNeeded' };
  const { id: connectionId, prices } = connection as UsableConnection;
  const requested = { kind: 'declare', hibernated: desired.hibernated, isDraft: declaration.isDraft } as const;
  return {
    ...declaration,
    spec: desired,
    connectionId,
    prices,
    priorities: autoscalerPriorities(desired, prices),
    shown: acceptedStatus(current, requested, now),
    differences: differencesOf(present, desired, context.declaredPools),
    effects: effectsOf(current, desired, { version: versionAfter(current, desired, catalogue, now), pointers }),
  };
}

/** Stands in for the id of a cluster that does not exist yet. */
const NIL_ID = asClusterId('00000000-0000-0000-0000-000000000000');

/** The cluster as it would be after the plan, which a dry run shows. */
export function asPlanned(current: ClusterRecord | null, name: string, plan: AcceptedPlan, now: Date): ClusterRecord {
  const { spec, desiredHash, generation, shown, prices, priorities } = plan;
  const absent = {
    id: NIL_ID,
    name,
    shootName: '',
    observedGeneration: 0,
    revision: 0,
    seedName: null,
    migrationPhase: null,
    observed: null,
    nodeCounts: null,
    pinnedVersion: null,
    keptGeneration: null,
    lastOperation: null,
    startedAt: null,
    deletionRequestedAt: null,
    createdAt: now,
    backingReady: new Map(),
  };
  const planned = { spec, priorities, prices, desiredHash, generation, ...shown };
  return { ...(current ?? absent), ...planned, updatedAt: now };
}

/** The full version that a specification leads to. Null when the catalogue is needed to tell and was not read. */
function versionAfter(
  current: ClusterRecord | null,
  { kubernetesVersion }: ClusterSpec,
  catalogue: CloudProfile | null,
  now: Date,
): string | null {
  const present = current && presentVersionOf(current);
  const isSame = current?.spec.kubernetesVersion === kubernetesVersion || isPinnedTo(current, kubernetesVersion);
  if (present !== null && isSame) return present;
  return catalogue && resolveVersion(kubernetesVersion, catalogue.kubernetesVersions, now);
}

/** Only starting a draft needs a subscription. Clusters that were started or have workers continue without one. */
function refuseToStart(current: ClusterRecord | null, { pools }: PoolPointers): void {
  if (current !== null && (current.startedAt !== null || hasWorkers(current.spec))) return;
  const detail =
    'The team has no active subscription, so it can only declare drafts. Omit managed node pools, or subscribe first.';
  const message = 'would start the cluster, which needs an active subscription';
  throw new Problem('subscription_required', detail, { errors: [{ pointer: pools, message, detail }] });
}

function changesNetwork(present: ClusterSpec, desired: ClusterSpec): boolean {
  return differencesOf(present, { ...present, network: desired.network }).length > 0;
}

function checkFeatures(present: ClusterSpec | null, desired: ClusterSpec, { features }: ChangeContext): void {
  if (!desired.controlPlaneHA || present?.controlPlaneHA || features.has('control-plane-ha')) return;
  throw unsupportedByGarden('control-plane-ha', '/spec/controlPlaneHA', 'is not supported here. Omit it');
}

/** A draft needs a working connection only when it starts. */
function checkConnection({ isDraft }: { isDraft: boolean }, { connection, pointers }: ChangeContext): void {
  if (connection === null) {
    throw invalidField('validation_failed', '/spec/connectionRef', 'must be the ref of a connection of the team');
  }
  if (!isDraft) refuseRejected(connection, pointers);
}

/** @throws Problem `connection_rejected` */
export function refuseRejected({ phase }: { readonly phase: ConnectionPhase }, pointers: PoolPointers): void {
  if (phase !== 'Rejected') return;
  const detail =
    'The provider does not accept the token of the connection, or the token is read-only, so the change cannot be carried ' +
    'out. Replace it with a token with read and write access first.';
  const message = 'needs a connection whose token the provider accepts for reading and writing';
  throw new Problem('connection_rejected', detail, {
    errors: [{ pointer: pointers.cluster('connectionRef'), message, detail }],
  });
}

export function quotasOf(overrides: QuotaOverrides, defaults: ClusterQuotas): ClusterQuotas {
  return {
    clustersPerTeam: overrides.clustersMax ?? defaults.clustersPerTeam,
    poolsPerCluster: overrides.poolsPerClusterMax ?? defaults.poolsPerCluster,
    nodesPerCluster: overrides.nodesPerClusterMax ?? defaults.nodesPerCluster,
  };
}

/** @throws Problem `quota_exceeded` when the team has reached its number of clusters */
function checkClusterQuota(clusters: number, { clustersPerTeam }: ClusterQuotas): void {
  if (clusters < clustersPerTeam) return;
  const detail = `The team's quota is ${clustersPerTeam} clusters, and it has ${clusters}. Delete one, or ask the operators to raise the quota.`;
  const message = `would exceed the team's quota of ${clustersPerTeam} clusters`;
  throw new Problem('quota_exceeded', detail, { errors: [{ pointer: '', message, detail }] });
}

/**
 * Checks the pools and nodes of a cluster. A lowered quota only blocks growth.
 *
 * @throws Problem `quota_exceeded`
 */
function checkPoolQuotas(
  current: ClusterSpec | null,
  { nodePools }: ClusterSpec,
  { poolsPerCluster, nodesPerCluster }: ClusterQuotas,
  pointers: PoolPointers,
): void {
  const present = current?.nodePools ?? [];
  const nodes = nodesMaxOf(nodePools);
  checkAll([
    () => {
      if (nodePools.length <= poolsPerCluster || nodePools.length <= present.length) return;
      throw invalidField(
        'quota_exceeded',
        pointers.pools,
        `would make ${nodePools.length} node pools; the limit per cluster is ${poolsPerCluster}. Remove some`,
      );
    },
    () => {
      if (nodes <= nodesPerCluster || nodes <= nodesMaxOf(present)) return;
      throw invalidField(
        'quota_exceeded',
        pointers.pools,
        `may grow to ${nodes} nodes in all; the limit per cluster is ${nodesPerCluster}. Lower the maximum of a pool`,
      );
    },
  ]);
}
