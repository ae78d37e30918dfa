import { type CallDeps, perform } from './calls/call.js';
import { isGardenError } from './calls/garden-error.js';
import { objectIn, textIn } from './calls/json.js';
import { namespacePath, projectPath } from './calls/paths.js';
import { applyCall, mergePatchCall } from './calls/requests.js';
import type { ProjectDeclaration } from './client.js';

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
  // By force: other managers have no reason to change these fields.
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
