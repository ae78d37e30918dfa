import type { Metrics } from '@corral/service';
import type { CallDeps, GardenCall } from './calls/call.js';
import { ping, readCloudProfile } from './catalogue/cloud-profile.js';
import type { GardenClient, GardenOptions } from './client.js';
import { openCredentials } from './credentials/credentials.js';
import { openShootAccesses } from './nodes/shoot-access.js';
import { listNodes, nodeListBytesMax, shootNodes } from './nodes/shoot-nodes.js';
import { listBalancers, shootObjects } from './objects/shoot-objects.js';
import { applyCredentials, deleteCredentials, ensureProject } from './projects.js';
import { missingRights } from './rights.js';
import { defaultFieldManager } from './shoots/shoot.js';
import {
  annotateShoot,
  applyShoot,
  deleteShoot,
  issueKubeconfig,
  listShoots,
  readAuthority,
  readShoot,
  readTimedShoot,
  replaceWorkers,
} from './shoots/shoot-calls.js';
import { watchShoots } from './shoots/watch-shoots.js';

/**
 * Wires a client of a garden cluster; makes no call.
 *
 * @throws Error when the kubeconfig cannot be used
 */
export function connectGarden(options: GardenOptions): GardenClient {
  const { kubeconfigPath, kubeconfigText, cloudProfileName, log } = options;
  const credentials = openCredentials({ path: kubeconfigPath, text: kubeconfigText });
  const closing = new AbortController();
  const deps: CallDeps = {
    credentials,
    closing: closing.signal,
    timeoutMs: options.timeoutMs ?? 15_000,
    bodyBytesMax: options.bodyBytesMax ?? 64 * 1024 * 1024,
    fieldManager: options.fieldManager ?? defaultFieldManager,
    log,
    onCall: options.onCall ?? (() => {}),
    onAccessDenied: ({ verb, resource }, error) => log.error('garden denies access', { verb, resource, error }),
  };
  const accesses = openShootAccesses(deps, 'admin');
  const views = openShootAccesses({ ...deps, bodyBytesMax: nodeListBytesMax }, 'viewer');
  const keptNamespaces = new Set<string>();
  const watches = new Set<Promise<void>>();

  return {
    ensureProject: (project, signal) => ensureProject(deps, keptNamespaces, project, signal),
    applyCredentials: (declaration, signal) => applyCredentials(deps, declaration, signal),
    deleteCredentials: (named, signal) => deleteCredentials(deps, named, signal),
    readShoot: (shoot, signal) => readShoot(deps, shoot, signal),
    readAuthority: (shoot, signal) => readAuthority(deps, shoot, signal),
    applyShoot: (manifest, signal) => applyShoot(deps, manifest, signal),
    readTimedShoot: (shoot, signal) => readTimedShoot(deps, shoot, signal),
    overrideShoot: (manifest, signal) => applyShoot(deps, manifest, signal, { force: true }),
    replaceWorkers: (shoot, signal) => replaceWorkers(deps, shoot, signal),
    annotateShoot: (shoot, signal) => annotateShoot(deps, shoot, signal),
    deleteShoot: (shoot, signal) => deleteShoot(deps, shoot, signal),
    listShoots: (list, signal) => listShoots(deps, list, signal),
    async watchShoots(watch) {
      const watching = watchShoots(deps, watch);
      watches.add(watching);
      await watching.finally(() => watches.delete(watching));
    },
    readCloudProfile: (signal) => readCloudProfile(deps, cloudProfileName, signal),
    adminKubeconfig: (request, signal) => issueKubeconfig(deps, 'admin', request, signal),
    viewerKubeconfig: (request, signal) => issueKubeconfig(deps, 'viewer', request, signal),
    listNodes: (shoot, signal) => listNodes(views, shoot, signal),
    listBalancers: (shoot, signal) => listBalancers(views, shoot, signal),
    missingRights: (needed, signal) => missingRights(deps, needed, signal),
    ping: (signal) => ping(deps, cloudProfileName, signal),
    nodes: shootNodes(deps, accesses),
    objects: shootObjects(deps, accesses),
    async close() {
      closing.abort();
      await Promise.all(watches);
      accesses.close();
      views.close();
      credentials.close();
    },
  };
}

/** An `onCall` that records duration and outcome of calls. */
export function gardenCallMetrics(metrics: Pick<Metrics, 'histogram'>): (call: GardenCall) => void {
  const histogram = metrics.histogram({
    name: 'corral_garden_call_seconds',
    help: 'Duration of garden cluster calls in seconds',
    labelNames: ['verb', 'resource', 'outcome'],
  });
  return ({ seconds, ...labels }) => histogram.observe(labels, seconds);
}
