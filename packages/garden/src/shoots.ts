import { type Answer, type Call, type CallDeps, perform } from './call.js';
import { unusableError } from './call-errors.js';
import type { AppliedShoot, HeldShoot, ShootIdentity, ShootManifest } from './client.js';
import { isGardenError } from './errors.js';
import { objectIn, objectsIn, textIn } from './json.js';
import { type Named, shootPath } from './paths.js';
import { applyCall, createCall, deleteCall, getCall, mergePatchCall } from './requests.js';
import { parseShoot, type Shoot } from './shoot.js';

export async function readShoot(deps: CallDeps, shoot: Named, signal?: AbortSignal): Promise<Shoot | null> {
  const call = getCall('shoots', shootPath(shoot));
  const answer = await orAbsent(perform(deps, call, signal));
  return answer === null ? null : shootOf(call, answer);
}

export async function readHeld(deps: CallDeps, shoot: Named, signal?: AbortSignal): Promise<HeldShoot | null> {
  const call = getCall('shoots', shootPath(shoot));
  const answer = await orAbsent(perform(deps, call, signal));
  return answer === null ? null : { shoot: shootOf(call, answer), at: answer.date };
}

export async function applyShoot(
  deps: CallDeps,
  manifest: ShootManifest,
  signal?: AbortSignal,
  options: { force?: boolean } = {},
): Promise<AppliedShoot> {
  const { metadata, spec } = manifest;
  const object = { apiVersion: 'core.gardener.cloud/v1beta1', kind: 'Shoot', metadata, spec };
  const call = applyCall('shoots', shootPath(metadata), deps.fieldManager, object, options);
  const answer = await perform(deps, call, signal);
  const shoot = shootOf(call, answer);
  return { shoot, created: answer.status === 201, appliedAt: appliedAtOf(answer, deps.fieldManager) };
}

/** The entry of our manager keeps its time while applies change nothing. */
function appliedAtOf({ body, date }: Answer, fieldManager: string): Date | null {
  const ours = objectsIn(objectIn(body, 'metadata'), 'managedFields').find(
    ({ manager, operation, subresource }) => manager === fieldManager && operation === 'Apply' && !subresource,
  );
  const time = new Date(textIn(ours ?? {}, 'time') ?? '');
  return Number.isNaN(time.getTime()) ? date : time;
}

export async function annotateShoot(
  deps: CallDeps,
  {
    uid,
    resourceVersion,
    annotations,
    ...shoot
  }: ShootIdentity & { annotations: Record<string, string | null>; resourceVersion?: string },
  signal?: AbortSignal,
): Promise<Shoot> {
  const metadata = { uid, ...(resourceVersion !== undefined && { resourceVersion }), annotations };
  const call = mergePatchCall('shoots', shootPath(shoot), deps.fieldManager, { metadata });
  return shootOf(call, await perform(deps, call, signal));
}

export async function replaceWorkers(
  deps: CallDeps,
  { uid, resourceVersion, workers, ...shoot }: ShootIdentity & { resourceVersion: string; workers: readonly object[] },
  signal?: AbortSignal,
): Promise<Shoot> {
  const patch = { metadata: { uid, resourceVersion }, spec: { provider: { workers } } };
  const call = mergePatchCall('shoots', shootPath(shoot), deps.fieldManager, patch);
  return shootOf(call, await perform(deps, call, signal));
}

/** Admission looks for the annotation in storage, so both calls may follow each other at once. */
export async function deleteShoot(
  deps: CallDeps,
  shoot: ShootIdentity,
  signal?: AbortSignal,
): Promise<'accepted' | 'absent'> {
  const annotations = { 'confirmation.gardener.cloud/deletion': 'true' };
  const confirmed = await orAbsent(annotateShoot(deps, { ...shoot, annotations }, signal));
  if (confirmed === null) return 'absent';
  const deleted = await orAbsent(perform(deps, deleteCall('shoots', shootPath(shoot), shoot.uid), signal));
  return deleted === null ? 'absent' : 'accepted';
}

/** What a kubeconfig of a Shoot is good for: everything, or reading all but Secrets. */
export type ShootRole = 'admin' | 'viewer';

const requestKinds = { admin: 'AdminKubeconfigRequest', viewer: 'ViewerKubeconfigRequest' } as const;

/** @throws GardenError `uncertain` when an answer was lost, whatever became of the attempts after it */
export async function issueKubeconfig(
  deps: CallDeps,
  role: ShootRole,
  { expirationSeconds, ...shoot }: Named & { expirationSeconds: number },
  signal?: AbortSignal,
): Promise<{ kubeconfig: string; expiresAt: Date }> {
  const subresource = `${role}kubeconfig`;
  const request = createCall(`shoots/${subresource}`, `${shootPath(shoot)}/${subresource}`, {
    apiVersion: 'authentication.gardener.cloud/v1alpha1',
    kind: requestKinds[role],
    spec: { expirationSeconds },
  });
  // Stores nothing, so it may be repeated as a read may.
  const call: Call = { ...request, access: 'read', grants: true };
  const { body } = await perform(deps, call, signal);
  const status = objectIn(body, 'status');
  const kubeconfig = Buffer.from(textIn(status, 'kubeconfig') ?? '', 'base64').toString();
  const expiresAt = new Date(textIn(status, 'expirationTimestamp') ?? '');
  if (!kubeconfig.includes('clusters:') || Number.isNaN(expiresAt.getTime())) {
    throw unusableError(call, 'the answer holds no kubeconfig with an expiry');
  }
  return { kubeconfig, expiresAt };
}

/** @returns null for what the API server says is absent */
export async function orAbsent<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (isGardenError(error, 'not_found')) return null;
    throw error;
  }
}

function shootOf(call: Call, { body, status }: Answer): Shoot {
  const shoot = parseShoot(body);
  if (shoot === null) throw unusableError(call, `${status} without an object's metadata`);
  return shoot;
}
