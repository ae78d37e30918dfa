import { clusterLimits, type KubeconfigScope, roleCovers } from '@corral/contracts';
import { denialSentence, GardenError, nameContexts } from '@corral/garden';
import { recordAudit } from '../audit/record-audit.js';
import type { Caller } from '../changes/caller.js';
import { checkPreconditions, entityTagOf, type Preconditions } from '../changes/entity-tag.js';
import { notFound, Problem } from '../problem.js';
import type { Services } from '../services.js';
import { checkPerHour, isSurelyNotIssued, notReady, reachableShoot } from './credentials.js';
import { findOnGarden, recordIssueOutcome, type ShootAddress } from './store.js';

/** The wish is within the limits of the contract. */
export interface KubeconfigWish {
  readonly ttlSeconds: number;
  readonly scope: KubeconfigScope;
}

interface IssuedKubeconfig {
  readonly kubeconfig: string;
  /** The end that the garden has granted. */
  readonly expiresAt: Date;
}

const action = 'kubeconfig.issue';
const perHour = clusterLimits.kubeconfigsPerClusterPerHour;

/**
 * Issues a credential and stores none. The audit entry is written first, so every credential has one. Nothing here waits for a pass:
 * people need access even when an update hangs.
 *
 * @throws Problem `not_found`, `permission_denied`, `cluster_not_ready`, `rate_limit_exceeded`, `upstream_unavailable`
 */
export async function issueKubeconfig(
  services: Services,
  caller: Caller,
  name: string,
  wish: KubeconfigWish,
  preconditions: Preconditions,
): Promise<IssuedKubeconfig> {
  const { prisma, upstreams } = services;
  const { entryId, shoot } = await admitIssue(services, caller, name, wish, preconditions);
  let issued: IssuedKubeconfig;
  try {
    const expirationSeconds = wish.ttlSeconds;
    issued = await upstreams.kubeconfig(caller.scope, wish.scope, { ...shoot, expirationSeconds });
  } catch (error) {
    if (isSurelyNotIssued(error)) await recordIssueOutcome(prisma, caller, entryId, { issued: false });
    throw problemOf(error);
  }
  await recordIssueOutcome(prisma, caller, entryId, { issued: true, expiresAt: issued.expiresAt });
  return { ...issued, kubeconfig: nameContexts(issued.kubeconfig, `${caller.team.slug}/${name}`) };
}

/** Checks that the credential may be issued, and records who is about to get it. */
function admitIssue(
  { changeTeam }: Services,
  caller: Caller,
  name: string,
  wish: KubeconfigWish,
  preconditions: Preconditions,
): Promise<{ entryId: bigint; shoot: ShootAddress }> {
  const { ttlSeconds, scope } = wish;
  return changeTeam(caller, async (tx, now) => {
    const { cluster, shoot } = await findOnGarden(tx, caller, name);
    if (cluster === null) throw notFound();
    checkScope(caller, wish);
    checkPreconditions(preconditions, entityTagOf(cluster));
    const address = reachableShoot(cluster, shoot);
    // Each scope has its own limit: who reads a lot can still get in as an administrator.
    const detail = `The limit is ${perHour} kubeconfigs with the scope ${scope} for one cluster within an hour. Use one that is still valid, or wait.`;
    await checkPerHour(tx, caller, { action, scope, targetId: cluster.id }, { now, perHour, detail });
    const target = { kind: 'Cluster', id: cluster.id, name };
    return {
      entryId: await recordAudit(tx, caller, { action, target, detail: { ttlSeconds, scope } }),
      shoot: address,
    };
  });
}

/** Viewers change nothing, so they get no credential that could. @throws Problem `permission_denied` */
function checkScope({ role }: Caller, { scope }: KubeconfigWish): void {
  if (scope === 'viewer' || roleCovers(role, 'member')) return;
  throw new Problem(
    'permission_denied',
    'Viewers get kubeconfigs for reading only. Ask for one with the scope viewer.',
  );
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
