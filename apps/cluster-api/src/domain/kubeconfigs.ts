import { GardenError, type GardenErrorKind, nameContexts } from '@corral/garden';
import { notFound, Problem } from '../problem.js';
import { awaited, type Caller } from './caller.js';
import { type ClusterRecord, openOperationOf } from './cluster-record.js';
import { refuseWhileDeleting } from './decide-declaration.js';
import { checkPreconditions, entityTagOf, type Preconditions } from './entity-tag.js';
import { checkPerHour, type Issues } from './per-hour.js';

/** How a Shoot is found on the garden. */
export interface ShootAddress {
  readonly namespace: string;
  readonly name: string;
}

/** What an issue needs of the store, while the changes of the team are held. */
export interface KubeconfigTransaction extends Issues {
  readonly cluster: ClusterRecord | null;
  /** Null until the team has a namespace on the garden. */
  readonly shoot: ShootAddress | null;
  /** Writes down who is about to be given a credential. @returns the id of the audit entry */
  recordIssue(issue: { readonly ttlSeconds: number }): Promise<bigint>;
}

export interface KubeconfigStore {
  withCluster<T>(caller: Caller, name: string, work: (tx: KubeconfigTransaction) => Promise<T>): Promise<T>;
  /** Completes the audit entry with what became of the issue. */
  recordOutcome(caller: Caller, entryId: bigint, outcome: IssueOutcome): Promise<void>;
}

export type IssueOutcome = { readonly issued: true; readonly expiresAt: Date } | { readonly issued: false };

export interface KubeconfigDeps {
  readonly store: KubeconfigStore;
  /** Has a client certificate of the cluster's administrator made. @throws GardenError */
  readonly issue: (shoot: ShootAddress & { expirationSeconds: number }) => Promise<IssuedKubeconfig>;
  readonly perHour: number;
}

export interface IssuedKubeconfig {
  readonly kubeconfig: string;
  /** What the garden granted. */
  readonly expiresAt: Date;
}

export type KubeconfigService = ReturnType<typeof kubeconfigService>;

/**
 * Issues credentials and keeps none. The audit entry comes first, so there is no credential without one; it also counts
 * against the limit, which holds across replicas and restarts that way. Nothing here waits for a pass: when an update
 * hangs, people need to get in.
 */
export function kubeconfigService({ store, issue, perHour }: KubeconfigDeps) {
  return {
    /** @param ttlSeconds whole, within the limits of the contract */
    async issue(
      caller: Caller,
      name: string,
      { ttlSeconds }: { readonly ttlSeconds: number },
      preconditions: Preconditions,
    ): Promise<IssuedKubeconfig> {
      const { entryId, shoot } = await store.withCluster(caller, name, async (tx) => {
        if (tx.cluster === null) throw notFound();
        checkPreconditions(preconditions, entityTagOf(tx.cluster));
        const address = reachableShoot(tx, tx.cluster);
        await checkPerHour(
          tx,
          perHour,
          `The limit is ${perHour} kubeconfigs per cluster and hour. Use one that is still valid, or wait.`,
        );
        return { entryId: await tx.recordIssue({ ttlSeconds }), shoot: address };
      });
      let issued: IssuedKubeconfig;
      try {
        issued = await awaited(caller, () => issue({ ...shoot, expirationSeconds: ttlSeconds }));
      } catch (error) {
        if (isSurelyNotIssued(error)) await store.recordOutcome(caller, entryId, { issued: false });
        throw problemOf(error);
      }
      await store.recordOutcome(caller, entryId, { issued: true, expiresAt: issued.expiresAt });
      return { ...issued, kubeconfig: nameContexts(issued.kubeconfig, `${caller.team.slug}/${name}`) };
    },
  };
}

/** @throws Problem `cluster_deleting` or `cluster_not_ready` */
export function reachableShoot({ shoot }: Pick<KubeconfigTransaction, 'shoot'>, cluster: ClusterRecord): ShootAddress {
  refuseWhileDeleting(cluster);
  // The garden would issue one all the same, for a control plane that is not there.
  const why = { operationId: openOperationOf(cluster)?.id };
  if (cluster.spec.hibernated) throw notReady('The cluster is hibernated. Resume it, and wait until it is ready.', why);
  if (shoot === null || !mayAnswer(cluster)) {
    throw notReady('The control plane does not answer. Wait until the condition ControlPlaneReady is True.', why);
  }
  return shoot;
}

/**
 * Right after each change the garden checks anew and the condition is Unknown: that is no reason to keep people out of
 * a cluster that has been there before, unless it sleeps.
 */
function mayAnswer({ conditions, observedGeneration }: ClusterRecord): boolean {
  const controlPlane = conditions.find(({ type }) => type === 'ControlPlaneReady');
  if (controlPlane?.status !== 'Unknown') return controlPlane?.status === 'True';
  return observedGeneration > 0 && controlPlane.reason !== 'Hibernated';
}

/** After these there is surely no credential; after all others there might be one. */
const notIssued = new Set<GardenErrorKind>([
  ...(['unreachable', 'throttled', 'credentials', 'rbac', 'refused', 'quota_exceeded', 'stale_reference'] as const),
  ...(['conflict', 'exists', 'not_found', 'expired', 'server_error'] as const),
]);

export const isSurelyNotIssued = (error: unknown): boolean => error instanceof GardenError && notIssued.has(error.kind);

function problemOf(error: unknown): unknown {
  if (!(error instanceof GardenError)) return error;
  switch (error.kind) {
    // As long as the control plane has no address, or when the Shoot went away meanwhile.
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
