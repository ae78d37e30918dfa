import { type Answer, type Call, type CallDeps, perform } from '../calls/call.js';
import { unusableError } from '../calls/call-errors.js';
import { isGardenError } from '../calls/garden-error.js';
import { objectIn, objectsIn, textIn } from '../calls/json.js';
import { configMapPath, type Named, query, secretPath, shootPath, shootsPath } from '../calls/paths.js';
import {
  applyCall,
  confidential,
  createCall,
  deleteCall,
  getCall,
  listCall,
  mergePatchCall,
  readList,
} from '../calls/requests.js';
import type { AppliedShoot, ShootIdentity, ShootManifest, ShootPage, TimedShoot } from '../client.js';
import { areCertificates } from '../credentials/certificates.js';
import { parseShoot, type Shoot } from './shoot.js';

export async function readShoot(deps: CallDeps, shoot: Named, signal?: AbortSignal): Promise<Shoot | null> {
  const call = getCall('shoots', shootPath(shoot));
  const answer = await orAbsent(perform(deps, call, signal));
  return answer === null ? null : shootOf(call, answer);
}

export async function readTimedShoot(deps: CallDeps, shoot: Named, signal?: AbortSignal): Promise<TimedShoot | null> {
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

/** The API server updates the time of our entry only when an apply changes something. */
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

/** Admission reads the annotation from storage, so no wait is needed between the calls. */
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

/** The rights of a Shoot kubeconfig: all, or reading everything except Secrets. */
export type ShootRole = 'admin' | 'viewer';

const requestKinds = { admin: 'AdminKubeconfigRequest', viewer: 'ViewerKubeconfigRequest' } as const;

/** @throws GardenError `uncertain` when an answer was lost and no later attempt succeeded */
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
  // Nothing is stored, so it may be repeated like a read.
  const call: Call = { ...request, access: 'read', grants: true };
  const { body } = await perform(deps, call, signal);
  const status = objectIn(body, 'status');
  const kubeconfig = Buffer.from(textIn(status, 'kubeconfig') ?? '', 'base64').toString();
  const expiresAt = new Date(textIn(status, 'expirationTimestamp') ?? '');
  if (!kubeconfig.includes('clusters:') || Number.isNaN(expiresAt.getTime())) {
    throw unusableError(call, 'the answer contains no kubeconfig with an expiry');
  }
  return { kubeconfig, expiresAt };
}

/** @returns null when the API server reports the object as absent */
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

const entry = 'ca.crt';
/** During a rotation there are two authorities. */
const charactersMax = 32_768;

/**
 * Reads the certificate authority that Gardener stores beside a Shoot in its Project: in a ConfigMap, or in older gardens
 * in a Secret of the same name (gardener: pkg/apiserver/registry/core/shoot/storage/kubeconfig.go).
 *
 * @returns PEM; null when there is none or it is not a certificate
 */
export async function readAuthority(deps: CallDeps, shoot: Named, signal?: AbortSignal): Promise<string | null> {
  const kept = { namespace: shoot.namespace, name: `${shoot.name}.ca-cluster` };
  const inMap = await orAbsent(perform(deps, getCall('configmaps', configMapPath(kept)), signal));
  if (inMap !== null) return authorityOf(textIn(objectIn(inMap.body, 'data'), entry));
  const inSecret = await orAbsent(perform(deps, confidential(getCall('secrets', secretPath(kept))), signal));
  const encoded = inSecret && textIn(objectIn(inSecret.body, 'data'), entry);
  return encoded === null ? null : authorityOf(Buffer.from(encoded, 'base64').toString());
}

function authorityOf(text: string | null): string | null {
  return text !== null && areCertificates(text, charactersMax) ? text : null;
}

/** Selects a page of Shoots. */
export interface PageRequest {
  readonly labelSelector: string;
  readonly limit?: number | undefined;
  readonly continue?: string | null;
}

/** Reads a page, and keeps of each Shoot only the fields in use. */
export async function listShoots(
  deps: CallDeps,
  { labelSelector, limit = 500, continue: token = null }: PageRequest,
  signal?: AbortSignal,
): Promise<ShootPage> {
  const call = listCall('shoots', `${shootsPath}${query({ labelSelector, limit, continue: token })}`);
  const { body } = await perform(deps, call, signal);
  const { items, resourceVersion, next } = readList(call, body);
  if (resourceVersion === null) throw unusableError(call, 'the answer is no list');
  const shoots = items.map((item) => {
    const shoot = parseShoot(item);
    // Skipping it would make callers treat the Shoot as deleted.
    if (shoot === null) throw unusableError(call, 'an element is no object with metadata');
    return shoot;
  });
  return { shoots, resourceVersion, continue: next };
}
