import { randomUUID } from 'node:crypto';
import {
  type AuditAction,
  asOperationId,
  type ChangeEffect,
  type ClusterSpec,
  type FieldChange,
  type NodePoolSpecInput,
  parseClusterPut,
} from '@corral/contracts';
import type { AuditDetail } from '../audit/record-audit.js';
import type { CatalogueResult } from '../catalogue/cached-catalogue.js';
import type { Caller, KeyedRequest } from '../changes/caller.js';
import { checkPreconditions, entityTagOf, type Preconditions } from '../changes/entity-tag.js';
import { type Claims, decideClaims, noClaims, serverIdsOf, useAdoptedServers } from '../node-pools/claim-servers.js';
import { noPointers, type PoolPointers, pointersInCluster } from '../node-pools/rules.js';
import { asProblem, combined, notFound, Problem } from '../problem.js';
import type { Services } from '../services.js';
import { acceptChange, changeCluster } from './change-store.js';
import { type ChangeOutcome, registerOrReplay, retryFailed } from './retry.js';
import {
  type AcceptedPlan,
  asPlanned,
  type ChangeContext,
  type Plan,
  planChange,
  quotasOf,
} from './rules/plan-change.js';
import { completeSpec } from './rules/specification.js';
import { withAllRefusals } from './rules/valid-part.js';
import {
  type ClusterRecord,
  type ClusterView,
  failedOperationOf,
  findConnection,
  findServers,
  viewCluster,
} from './store.js';

/** What a request says about its change besides the specification. */
export interface ChangeOptions {
  readonly preconditions: Preconditions;
  readonly purpose: 'apply' | 'dryRun';
}

/** Creates the cluster or changes it to the specification in this body. */
export async function declareCluster(
  services: Services,
  caller: Caller,
  name: string,
  body: object,
  options: ChangeOptions,
): Promise<SpecChangeOutcome> {
  const declareBody = async (given: object) => {
    const { spec } = parseClusterPut(given);
    return changeSpec(services, caller, {
      ...options,
      name,
      pointers: pointersInCluster,
      declaredPools: spec.nodePools,
      action: 'cluster.declare',
      needsCatalogue: true,
      desiredOf: (current) => completeSpec(spec, current, pointersInCluster),
    });
  };
  return options.purpose === 'dryRun' ? withAllRefusals(body, declareBody) : declareBody(body);
}

/** Hibernates or resumes the cluster. For a draft this takes effect when it starts. */
export function setHibernated(
  services: Services,
  caller: Caller,
  name: string,
  hibernated: boolean,
  options: ChangeOptions & { readonly keyed: KeyedRequest | null },
): Promise<SpecChangeOutcome> {
  return changeSpec(services, caller, {
    ...options,
    name,
    pointers: noPointers,
    needsCatalogue: false,
    action: hibernated ? 'cluster.hibernate' : 'cluster.resume',
    desiredOf: (current) => {
      if (current === null) throw notFound();
      return { ...current.spec, hibernated };
    },
  });
}

/** A request to change the specification of a cluster. */
interface SpecChange extends ChangeOptions {
  /** The cluster's name. */
  readonly name: string;
  /** Returns the entity tag that the preconditions refer to, null if there is none. Default: the cluster's. */
  readonly tagOf?: (current: ClusterRecord) => string | null;
  /** Whether the change may need the catalogue, which is then read before the transaction begins. */
  readonly needsCatalogue: boolean;
  /** The idempotency key, for requests that are not idempotent by themselves. */
  readonly keyed?: KeyedRequest | null;
  /** JSON pointers to node pools in the body. */
  readonly pointers: PoolPointers;
  /** The pools that the request declares, without defaults. */
  readonly declaredPools?: readonly NodePoolSpecInput[] | undefined;
  /** Dotted, for the audit log. */
  readonly action: AuditAction;
  /** What the audit log says about it. */
  readonly detail?: AuditDetail;
  /** @throws Problem when the change does not apply to this cluster */
  readonly desiredOf: (current: ClusterRecord | null) => ClusterSpec;
}

/**
 * `unchanged` and `accepted` also answer a repeated request. A request that repeats a failed specification is accepted
 * as a retry.
 */
export type SpecChangeOutcome =
  /** `changes`: what a declaration changed. */
  | (ChangeOutcome & { readonly changes?: readonly FieldChange[] })
  /** `cluster`: after the change; `present`: before the change, null when it does not exist. */
  | {
      readonly kind: 'dryRun';
      readonly cluster: ClusterRecord;
      readonly present: ClusterRecord | null;
      readonly changes: readonly FieldChange[];
      readonly effects: readonly ChangeEffect[];
    };

/**
 * The only function that changes specifications. Intent, operation and audit entry are one commit; wake-ups follow it. The
 * catalogue may need an outside call, so it is read before the transaction begins.
 *
 * @throws Problem when the change cannot be accepted
 */
export async function changeSpec(services: Services, caller: Caller, change: SpecChange): Promise<SpecChangeOutcome> {
  const { prisma, catalogue, wake } = services;
  const offered = change.needsCatalogue ? await catalogue.get() : null;
  if (change.purpose === 'dryRun') {
    return preview(services, await viewCluster(prisma, caller, change.name), change, offered);
  }
  const { outcome, claims } = await changeCluster(services, caller, change.name, (locked) =>
    attempt(services, locked, change, offered),
  );
  if (outcome.kind !== 'accepted') return outcome;
  if (outcome.operation.state === 'queued') wake.cluster(outcome.cluster.id);
  for (const id of serverIdsOf(claims)) wake.server(id);
  return outcome;
}

interface Attempted {
  readonly outcome: SpecChangeOutcome;
  /** The claims that were written. */
  readonly claims: Claims;
}

interface Decided {
  readonly plan: Exclude<Plan, { kind: 'catalogueNeeded' }>;
  readonly claims: Claims;
}

/** @throws Problem when the change cannot be accepted */
async function decide(
  services: Services,
  view: ClusterView,
  change: SpecChange,
  offered: CatalogueResult | null,
): Promise<Decided> {
  const { current } = view;
  const desired = change.desiredOf(current);
  checkPreconditions(change.preconditions, current && (change.tagOf ?? entityTagOf)(current));
  const context = await contextOf(services, view, change, desired, offered);
  const plan = await planOrRefuse(view, desired, context);
  if (plan.kind === 'catalogueNeeded')
    throw offered?.problem ?? new Error('A change that needs no catalogue needs one');
  return { plan, claims: plan.kind === 'unchanged' ? noClaims : await claimsOf(view, desired, change.pointers) };
}

async function preview(
  services: Services,
  view: ClusterView,
  change: SpecChange,
  offered: CatalogueResult | null,
): Promise<SpecChangeOutcome> {
  const { current, now } = view;
  const { plan } = await decide(services, view, change, offered);
  if (plan.kind === 'unchanged') {
    const cluster = current as ClusterRecord;
    return { kind: 'dryRun', cluster, present: cluster, changes: [], effects: [] };
  }
  const { differences: changes, effects } = plan;
  return { kind: 'dryRun', cluster: asPlanned(current, change.name, plan, now), present: current, changes, effects };
}

async function attempt(
  services: Services,
  locked: ClusterView,
  change: SpecChange,
  offered: CatalogueResult | null,
): Promise<Attempted> {
  const operationId = asOperationId(randomUUID());
  const replayed = change.keyed ? await registerOrReplay(locked, change.keyed, operationId) : null;
  if (replayed !== null) return { outcome: replayed, claims: noClaims };
  const { plan, claims } = await decide(services, locked, change, offered);
  if (plan.kind === 'unchanged') {
    const cluster = locked.current as ClusterRecord;
    const failed = failedOperationOf(cluster);
    const outcome =
      failed === null
        ? { kind: 'unchanged' as const, cluster }
        : await retryFailed(locked, cluster, failed, operationId);
    return { outcome, claims: noClaims };
  }
  refuseDeletion(locked.caller, plan, change.pointers);
  const { spec, connectionId, priorities, shown, differences: changes } = plan;
  const accepted = await acceptChange(locked, {
    operationId,
    declaration: plan,
    effect: { kind: 'declare', spec, priorities, connectionId },
    shown,
    claims,
    action: change.action,
    changes,
    detail: change.detail,
  });
  return { outcome: { kind: 'accepted', ...accepted, changes }, claims };
}

/**
 * A node pool that a declaration leaves out is deleted, whatever the request is called.
 *
 * @throws Problem `permission_denied` for a service account that may change but not delete
 */
function refuseDeletion({ account }: Caller, { effects }: AcceptedPlan, { pools: pointer }: PoolPointers): void {
  const removed = effects.flatMap((effect) =>
    effect.target === 'nodePool' && effect.kind === 'removed' ? [effect.pool] : [],
  );
  if (account === null || account.actions.includes('delete') || removed.length === 0) return;
  const message = `must keep ${removed.join(', ')}: the service account is narrowed to actions without delete`;
  const detail = `The change removes node pools, and the service account may not delete: ${removed.join(', ')}. Ask an administrator of the team.`;
  throw new Problem('permission_denied', detail, { errors: [{ pointer, message, detail }] });
}

/** @throws Problem with every reason for a refusal, a lack of adopted servers included */
async function planOrRefuse(view: ClusterView, desired: ClusterSpec, context: ChangeContext): Promise<Plan> {
  try {
    return planChange(view.current, desired, context);
  } catch (error) {
    const refusal = asProblem(error);
    const lack = await lackOfServers(view, desired, context.pointers, refusal);
    throw combined(refusal, lack === null ? [] : [lack]);
  }
}

/** Checks the claims of the pools that were not refused already. Without a usable connection there are no servers to claim. */
async function lackOfServers(
  view: ClusterView,
  desired: ClusterSpec,
  pointers: PoolPointers,
  { errors = [] }: Problem,
): Promise<Problem | null> {
  if (errors.length === 0 || errors.some(({ pointer }) => pointer === '/spec/connectionRef')) return null;
  const isRefused = (index: number) => errors.some(({ pointer }) => pointer.startsWith(`${pointers.pool(index)}/`));
  const nodePools = desired.nodePools.map((pool, index) =>
    isRefused(index) ? { ...pool, source: 'managed' as const } : pool,
  );
  return claimsOf(view, { ...desired, nodePools }, pointers).then(() => null, asProblem);
}

/** Locks adopted servers only when the cluster has, or gets, pools on them. Most clusters have none. */
async function claimsOf(view: ClusterView, desired: ClusterSpec, pointers: PoolPointers): Promise<Claims> {
  const { current } = view;
  const { connectionRef, nodePools } = desired;
  if (!useAdoptedServers([...(current?.spec.nodePools ?? []), ...nodePools])) return noClaims;
  return decideClaims(current?.id ?? null, nodePools, await findServers(view, connectionRef), pointers);
}

async function contextOf(
  { config }: Services,
  view: ClusterView,
  { pointers, declaredPools }: SpecChange,
  { connectionRef }: ClusterSpec,
  offered: CatalogueResult | null,
): Promise<ChangeContext> {
  return {
    quotas: quotasOf(view.quotaOverrides, config.quotas),
    clustersOfTeam: view.clustersOfTeam,
    lacksSubscription: config.subscriptionRequired && !view.hasActiveSubscription,
    connection: await findConnection(view, connectionRef),
    catalogue: offered?.profile ?? null,
    features: config.gardenFeatures,
    pointers,
    declaredPools,
    now: view.now,
  };
}
