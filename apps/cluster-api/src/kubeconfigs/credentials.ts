import { GardenError, type GardenErrorKind } from '@corral/garden';
import type { Caller } from '../changes/caller.js';
import type { Transaction } from '../changes/team-changes.js';
import { refuseWhileDeleting } from '../clusters/rules/declaration.js';
import { type ClusterRecord, openOperationOf } from '../clusters/store.js';
import { Problem } from '../problem.js';
import { type IssuesOf, issuedSince, type ShootAddress } from './store.js';

/* What the issues of credentials have in common: of kubeconfigs, and of the commands with which machines join clusters. */

/** Errors after which no credential can exist. After all others one may exist. */
const notIssued = new Set<GardenErrorKind>([
  'unreachable',
  'throttled',
  'credentials',
  'rbac',
  'refused',
  'webhook_unavailable',
  'quota_exceeded',
  'stale_reference',
  'conflict',
  'exists',
  'not_found',
  'expired',
  'server_error',
]);

export const isSurelyNotIssued = (error: unknown): boolean => error instanceof GardenError && notIssued.has(error.kind);

const HOUR_MS = 3_600_000;

/**
 * Checks that the caller, who shares the limit with nobody, may get another credential. The limit counts the last 60 minutes. It counts
 * entries of the audit log, so it holds across replicas and restarts.
 *
 * @param detail the message for a request above the limit
 * @throws Problem `rate_limit_exceeded`, with the seconds until the next one is allowed
 */
export async function checkPerHour(
  tx: Transaction,
  caller: Caller,
  of: Omit<IssuesOf, 'since' | 'limit'>,
  { now, perHour, detail }: { readonly now: Date; readonly perHour: number; readonly detail: string },
): Promise<void> {
  const since = new Date(now.getTime() - HOUR_MS);
  const issued = await issuedSince(tx, caller, { ...of, since, limit: perHour });
  const oldest = issued.at(-1);
  if (issued.length < perHour || oldest === undefined) return;
  const waitMs = oldest.getTime() + HOUR_MS - now.getTime();
  throw new Problem('rate_limit_exceeded', detail, { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) });
}

/** @throws Problem `cluster_deleting` or `cluster_not_ready` */
export function reachableShoot(cluster: ClusterRecord, shoot: ShootAddress | null): ShootAddress {
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

export const notReady = (detail: string, why: { cause?: unknown; operationId?: string | undefined }): Problem =>
  new Problem('cluster_not_ready', detail, why);
