import type { AuditAction, ClusterSpec } from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import type { Catalogue, CatalogueAtHand } from './cached-catalogue.js';
import type { Caller } from './caller.js';
import type { Change } from './changes.js';
import { type Claims, claimsDetail, decideClaims, drawOnServers, noClaims, serverIdsOf } from './claim-servers.js';
import type { ClusterRecord } from './cluster-record.js';
import type { ClusterChanges, ClusterTransaction } from './cluster-transaction.js';
import { checkPreconditions, entityTagOf, type Preconditions } from './entity-tag.js';
import type { KeyedRequest } from './keyed-request.js';
import type { Places } from './places.js';
import { type AcceptedPlan, type ChangeContext, planChange } from './plan-change.js';
import { type ClusterQuotas, quotasOf } from './quotas.js';
import { claimOrReplay, type Replayed } from './replay.js';
import { retryOnce } from './retry.js';

/** A wish that a cluster have another specification. */
export interface SpecChange {
  /** Of the cluster. */
  readonly name: string;
  readonly preconditions: Preconditions;
  /** The entity tag that they are about. Absent: that of the cluster. */
  readonly tagOf?: (current: ClusterRecord) => string;
  readonly purpose: 'apply' | 'dryRun';
  /** Whether what the garden offers may have a say in it. Such a change may wait for the garden before it begins. */
  readonly needsCatalogue: boolean;
  /** For requests that are not idempotent by nature. */
  readonly keyed?: KeyedRequest | null;
  /** Where node pools stand in the body. */
  readonly places: Places;
  /** Dotted, for the audit log. */
  readonly action: AuditAction;
  /** @throws Problem when the wish makes no sense for this cluster */
  readonly desiredOf: (current: ClusterRecord | null) => ClusterSpec;
}

/** `unchanged` and `accepted` are what a repeated request is answered, too. What failed is tried again by the same request. */
export type SpecChanged =
  | Replayed
  /** `cluster`: as it would be; `present`: as it is, null when it is not there. */
  | {
      readonly kind: 'dryRun';
      readonly cluster: ClusterRecord;
      readonly present: ClusterRecord | null;
      readonly changes: readonly Change[];
    };

export interface ChangeSpecDeps {
  readonly store: ClusterChanges;
  readonly catalogue: Catalogue;
  readonly features: ReadonlySet<GardenFeature>;
  readonly quotas: ClusterQuotas;
  /** Whether a team needs an active subscription to start a cluster. */
  readonly subscriptionRequired: boolean;
  /** Hints that the cluster is due. Never rejects: the row says so, and the sweep finds it. */
  readonly wake: (clusterId: string) => Promise<void>;
  /** The same for an adopted server. */
  readonly wakeServer: (id: string) => Promise<void>;
  readonly newId: () => string;
}

export type ChangeSpec = (caller: Caller, change: SpecChange) => Promise<SpecChanged>;

/**
 * The one way in which a specification changes: intent, operation and audit entry are one commit, and only then somebody
 * is woken. The catalogue is an outside call, so it is at hand before the change begins.
 */
export function specChanger(deps: ChangeSpecDeps): ChangeSpec {
  const { store, catalogue, wake, wakeServer } = deps;
  return async (caller, change) => {
    const offered = change.needsCatalogue ? await catalogue.atHand() : null;
    const { outcome, claims } = await store.change(caller, change.name, (tx) => attempt(deps, tx, change, offered));
    if (outcome.kind === 'accepted' && outcome.operation.state === 'queued') await wake(outcome.cluster.id);
    await Promise.all(serverIdsOf(claims).map(wakeServer));
    return outcome;
  };
}

interface Attempted {
  readonly outcome: SpecChanged;
  /** What was written of it. */
  readonly claims: Claims;
}

const withoutClaims = (outcome: SpecChanged): Attempted => ({ outcome, claims: noClaims });

async function attempt(
  deps: ChangeSpecDeps,
  tx: ClusterTransaction,
  change: SpecChange,
  offered: CatalogueAtHand | null,
): Promise<Attempted> {
  const { current } = tx;
  const operationId = deps.newId();
  const replayed = await claimOrReplay(tx, change.keyed ?? null, operationId);
  if (replayed !== null) return withoutClaims(replayed);
  const desired = change.desiredOf(current);
  checkPreconditions(change.preconditions, current && (change.tagOf ?? entityTagOf)(current));
  const plan = planChange(current, desired, await contextOf(deps, tx, change, desired, offered));
  if (plan.kind === 'catalogueNeeded')
    throw offered?.problem ?? new Error('A change that needs no catalogue needs one');
  const isDry = change.purpose === 'dryRun';
  if (plan.kind === 'unchanged') {
    const cluster = current as ClusterRecord;
    if (isDry) return withoutClaims({ kind: 'dryRun', cluster, present: cluster, changes: [] });
    return withoutClaims(await retryOnce(tx, cluster, operationId));
  }
  const claims = await claimsOf(tx, desired, change.places);
  if (isDry) {
    const cluster = asPlanned(current, change.name, plan, tx.now);
    return withoutClaims({ kind: 'dryRun', cluster, present: current, changes: plan.changes });
  }
  const { spec, connectionId, prices: _, priorities, shown, changes, kind, ...declaration } = plan;
  const accepted = await tx.accept({
    ...declaration,
    operationId,
    effect: { kind: 'declare', spec, priorities, connectionId },
    shown,
    claims,
    action: change.action,
    detail: { changed: changes.map(({ pointer }) => pointer).join(' '), ...claimsDetail(claims) },
  });
  return { outcome: { kind, ...accepted }, claims };
}

/** Most clusters have no pools on adopted servers, and nobody's servers are held for a change of those. */
async function claimsOf({ current, findServers }: ClusterTransaction, desired: ClusterSpec, places: Places) {
  const { connectionRef, nodePools } = desired;
  if (!drawOnServers([...(current?.spec.nodePools ?? []), ...nodePools])) return noClaims;
  return decideClaims(current?.id ?? null, nodePools, await findServers(connectionRef), places);
}

async function contextOf(
  { quotas, features, subscriptionRequired }: ChangeSpecDeps,
  tx: ClusterTransaction,
  { places }: SpecChange,
  { connectionRef }: ClusterSpec,
  offered: CatalogueAtHand | null,
): Promise<ChangeContext> {
  return {
    quotas: quotasOf(tx.quotaOverrides, quotas),
    clustersOfTeam: tx.clustersOfTeam,
    lacksSubscription: subscriptionRequired && !tx.hasActiveSubscription,
    connection: await tx.findConnection(connectionRef),
    ...{ catalogue: offered?.profile ?? null, features, places, now: tx.now },
  };
}

/** A cluster that is not there has no id yet. */
const NIL_ID = '00000000-0000-0000-0000-000000000000';

function asPlanned(current: ClusterRecord | null, name: string, plan: AcceptedPlan, now: Date): ClusterRecord {
  const { spec, desiredHash, generation, shown, prices, priorities } = plan;
  const absent = {
    ...{ id: NIL_ID, name, observedGeneration: 0, revision: 0, seedName: null, migrationPhase: null, observed: null },
    ...{
      nodeCounts: null,
      pinnedVersion: null,
      lastOperation: null,
      startedAt: null,
      deletionRequestedAt: null,
      createdAt: now,
      backingReady: new Map(),
    },
  };
  const planned = { spec, priorities, prices, desiredHash, generation, ...shown };
  return { ...(current ?? absent), ...planned, updatedAt: now };
}
