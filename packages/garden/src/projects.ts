import { type Call, type CallDeps, perform } from './calls/call.js';
import { isGardenError } from './calls/garden-error.js';
import { objectIn, textIn } from './calls/json.js';
import { credentialsBindingPath, type Named, namespacePath, projectPath, secretPath } from './calls/paths.js';
import { applyCall, confidential, deleteCall, mergePatchCall } from './calls/requests.js';
import type { CredentialsDeclaration, ProjectDeclaration } from './client.js';

/** @param kept namespaces that have the annotation already: it costs one call per process and Project */
export async function ensureProject(
  deps: CallDeps,
  kept: Set<string>,
  { name, labels, annotations, description }: ProjectDeclaration,
  signal?: AbortSignal,
): Promise<{ namespace: string | null; ready: boolean }> {
  const project = {
    apiVersion: 'core.gardener.cloud/v1beta1',
    kind: 'Project',
    metadata: { name, labels, annotations },
    spec: { description },
  };
  // The apply is forced: other managers have no reason to change these fields.
  const call = applyCall('projects', projectPath(name), deps.fieldManager, project, { force: true });
  const { body } = await perform(deps, call, signal);

  const namespace = textIn(objectIn(body, 'spec'), 'namespace');
  const isReady = textIn(objectIn(body, 'status'), 'phase') === 'Ready';
  const isGoing = textIn(objectIn(body, 'metadata'), 'deletionTimestamp') !== null;
  const ready = namespace !== null && isReady && !isGoing;
  if (ready && !kept.has(namespace)) {
    await keepProject(deps, namespace, signal);
    kept.add(namespace);
  }
  return { namespace, ready };
}

/**
 * Gardener removes Projects that have no Shoots for a long time, unless an annotation of the namespace (not the Project)
 * prevents it (gardener: docs/concepts/controller-manager.md, "Stale Projects Reconciler"). Members of a Project may not
 * patch its namespace, so this right may be missing. A removed Project is created again when a Shoot needs it.
 */
async function keepProject(deps: CallDeps, namespace: string, signal?: AbortSignal): Promise<void> {
  const patch = { metadata: { annotations: { 'project.gardener.cloud/skip-stale-check': 'true' } } };
  try {
    await perform(deps, mergePatchCall('namespaces', namespacePath(namespace), deps.fieldManager, patch), signal);
  } catch (error) {
    if (!isGardenError(error, 'rbac', 'not_found', 'refused', 'unusable')) throw error;
    deps.log.warn('garden may remove a project as stale', { namespace, error });
  }
}

const providerType = 'hcloud';

/** The binding comes second: admission refuses a binding to an unknown Secret. */
export async function applyCredentials(
  deps: CallDeps,
  { namespace, name, token, labels, force = false }: CredentialsDeclaration,
  signal?: AbortSignal,
): Promise<void> {
  const metadata = { namespace, name, labels };
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    type: 'Opaque',
    data: { hcloudToken: Buffer.from(token).toString('base64') },
  };
  const binding = {
    apiVersion: 'security.gardener.cloud/v1alpha1',
    kind: 'CredentialsBinding',
    metadata,
    provider: { type: providerType },
    credentialsRef: { apiVersion: 'v1', kind: 'Secret', name, namespace },
  };
  await perform(
    deps,
    confidential(applyCall('secrets', secretPath(metadata), deps.fieldManager, secret, { force })),
    signal,
  );
  const path = credentialsBindingPath(metadata);
  await perform(deps, applyCall('credentialsbindings', path, deps.fieldManager, binding, { force }), signal);
}

/** The binding goes first, because it refers to the Secret. */
export async function deleteCredentials(
  deps: CallDeps,
  credentials: Named,
  signal?: AbortSignal,
): Promise<'accepted' | 'absent'> {
  const binding = await deleteIfThere(
    deps,
    deleteCall('credentialsbindings', credentialsBindingPath(credentials)),
    signal,
  );
  const secret = await deleteIfThere(deps, confidential(deleteCall('secrets', secretPath(credentials))), signal);
  return binding === 'absent' && secret === 'absent' ? 'absent' : 'accepted';
}

async function deleteIfThere(deps: CallDeps, call: Call, signal?: AbortSignal): Promise<'accepted' | 'absent'> {
  try {
    await perform(deps, call, signal);
    return 'accepted';
  } catch (error) {
    if (!isGardenError(error, 'not_found')) throw error;
    return 'absent';
  }
}
