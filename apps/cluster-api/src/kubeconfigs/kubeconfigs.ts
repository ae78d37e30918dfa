import type { RequestScope } from '@corral/admission';
import type { CreatorRow } from '@corral/cluster-data';
import { clusterLimits, type KubeconfigScope, roleCovers } from '@corral/contracts';
import { denialSentence, GardenError, nameContexts } from '@corral/garden';
import type { Caller } from '../changes/caller.js';
import { checkPreconditions, entityTagOf, type Preconditions } from '../changes/entity-tag.js';
import { type ClusterRecord, openOperationOf } from '../clusters/rows.js';
import { refuseWhileDeleting } from '../clusters/spec/decide-declaration.js';
import { notFound, Problem } from '../problem.js';
import { checkPerHour, type IssueOutcome, type Issues, isSurelyNotIssued } from './issued-credentials.js';

/** Identifies a Shoot on the garden. */
export interface ShootAddress {
  readonly namespace: string;
  readonly name: string;
}

/** Within the limits of the contract. */
export interface KubeconfigWish {
  readonly ttlSeconds: number;
  readonly scope: KubeconfigScope;
}

/** What an issue needs from the store. The team's changes are locked meanwhile. */
export interface KubeconfigTransaction {
  readonly cluster: ClusterRecord | null;
  /** Null until the team has a namespace on the garden. */
  readonly shoot: ShootAddress | null;
  /** Records who is about to get a credential. @returns the id of the audit entry */
  recordIssue(issue: KubeconfigWish): Promise<bigint>;
  /** Each scope has its own limit: who reads a lot can still get in as an administrator. */
  issuesOf(scope: KubeconfigScope): Issues;
}

/** A credential that was requested, and to whom it was issued. */
export interface KubeconfigIssue {
  /** Null for a person whose account is deleted. */
  readonly issuedTo: CreatorRow | null;
  readonly createdAt: Date;
  readonly ttlSeconds: number;
  /** Null unless the outcome is `completed`. */
  readonly expiresAt: Date | null;
  readonly outcome: 'completed' | 'refused' | 'pending';
}

export interface KubeconfigStore {
  /** The newest issues of the cluster, newest first; null without such a cluster. */
  listIssues(team: Caller['team'], name: string, limit: number): Promise<KubeconfigIssue[] | null>;
  withCluster<T>(caller: Caller, name: string, work: (tx: KubeconfigTransaction) => Promise<T>): Promise<T>;
  /** Adds the outcome to the audit entry. */
  recordOutcome(caller: Caller, entryId: bigint, outcome: IssueOutcome): Promise<void>;
}

interface KubeconfigDeps {
  readonly store: KubeconfigStore;
  /** Requests a client certificate for the cluster. @throws GardenError */
  readonly issue: (
    request: RequestScope,
    scope: KubeconfigScope,
    shoot: ShootAddress & { expirationSeconds: number },
  ) => Promise<IssuedKubeconfig>;
  /** Of a cluster and a scope, for each person and service account. */
  readonly perHour: number;
}

interface IssuedKubeconfig {
  readonly kubeconfig: string;
  /** As granted by the garden. */
  readonly expiresAt: Date;
}

export type KubeconfigService = ReturnType<typeof kubeconfigService>;

/**
 * Issues credentials and stores none. The audit entry is written first, so every credential has one. Audit entries also
 * count towards the hourly limit, which therefore holds across replicas and restarts. Nothing here waits for a pass:
 * people need access even when an update hangs.
 */
export function kubeconfigService({ store, issue, perHour }: KubeconfigDeps) {
  return {
    /** @throws Problem `not_found` */
    async listIssues({ team }: Caller, name: string): Promise<KubeconfigIssue[]> {
      const issues = await store.listIssues(team, name, clusterLimits.kubeconfigIssuesShown);
      if (issues === null) throw notFound();
      return issues;
    },

    /** @throws Problem `not_found`, `permission_denied`, `cluster_not_ready`, `rate_limit_exceeded`, `upstream_unavailable` */
    async issue(
      caller: Caller,
      name: string,
      wish: KubeconfigWish,
      preconditions: Preconditions,
    ): Promise<IssuedKubeconfig> {
      const { entryId, shoot } = await store.withCluster(caller, name, async (tx) => {
        if (tx.cluster === null) throw notFound();
        checkScope(caller, wish);
        checkPreconditions(preconditions, entityTagOf(tx.cluster));
        const address = reachableShoot(tx, tx.cluster);
        await checkPerHour(
          tx.issuesOf(wish.scope),
          perHour,
          `The limit is ${perHour} kubeconfigs with the scope ${wish.scope} for one cluster within an hour. Use one that is still valid, or wait.`,
        );
        return { entryId: await tx.recordIssue(wish), shoot: address };
      });
      let issued: IssuedKubeconfig;
      try {
        issued = await issue(caller.scope, wish.scope, { ...shoot, expirationSeconds: wish.ttlSeconds });
      } catch (error) {
        if (isSurelyNotIssued(error)) await store.recordOutcome(caller, entryId, { issued: false });
        throw problemOf(error);
      }
      await store.recordOutcome(caller, entryId, { issued: true, expiresAt: issued.expiresAt });
      return { ...issued, kubeconfig: nameContexts(issued.kubeconfig, `${caller.team.slug}/${name}`) };
    },
  };
}

/** Viewers change nothing, so they get no credential that could. @throws Problem `permission_denied` */
function checkScope({ role }: Pick<Caller, 'role'>, { scope }: KubeconfigWish): void {
  if (scope === 'viewer' || roleCovers(role, 'member')) return;
  throw new Problem(
    'permission_denied',
    'Viewers get kubeconfigs for reading only. Ask for one with the scope viewer.',
  );
}

/** @throws Problem `cluster_deleting` or `cluster_not_ready` */
export function reachableShoot({ shoot }: Pick<KubeconfigTransaction, 'shoot'>, cluster: ClusterRecord): ShootAddress {
  refuseWhileDeleting(cluster);
  // The garden would issue a kubeconfig even for a control plane that is shut down.
  const why = { operationId: openOperationOf(cluster)?.id };
  if (cluster.spec.hibernated) throw notReady('The cluster is hibernated. Resume it, and wait until it is ready.', why);
  if (shoot === null || !mayAnswer(cluster)) {
    throw notReady('The control plane does not answer. Wait until the condition ControlPlaneReady is True.', why);
  }
  return shoot;
}

/**
 * Right after a change the garden repeats its checks and the condition is Unknown. That must not lock people out of a
 * cluster that was ready before, unless it is hibernated.
 */
function mayAnswer({ conditions, observedGeneration }: ClusterRecord): boolean {
  const controlPlane = conditions.find(({ type }) => type === 'ControlPlaneReady');
  if (controlPlane?.status !== 'Unknown') return controlPlane?.status === 'True';
  return observedGeneration > 0 && controlPlane.reason !== 'Hibernated';
}

function problemOf(error: unknown): unknown {
  if (!(error instanceof GardenError)) return error;
  if (error.denial !== null) {
    return new Problem('permission_denied', denialSentence(error.denial, 'the kubeconfig'), { cause: error });
  }
  switch (error.kind) {
    // The control plane has no address yet, or the Shoot was deleted meanwhile.
    case 'refused':
    case 'not_found':
    case 'stale_reference':
      return notReady('The control plane cannot issue a kubeconfig yet. Wait until the cluster is ready.', {
        cause: error,
      });
    default:
      return new Problem('upstream_unavailable', 'The garden did not issue a kubeconfig. Try again in a moment.', {
        retryAfterSeconds: error.retryAfterSeconds ?? 5,
        cause: error,
      });
  }
}

const notReady = (detail: string, why: { cause?: unknown; operationId?: string | undefined }): Problem =>
  new Problem('cluster_not_ready', detail, why);
