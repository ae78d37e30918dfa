import type { JsonObject } from '@corral/contracts';
import { isGardenError } from '../calls/garden-error.js';
import { objectIn, objectsIn, textIn, textMapIn } from '../calls/json.js';
import { evictionPath, type Named, podsPath } from '../calls/paths.js';
import { createCall, ofShoot } from '../calls/requests.js';
import { orAbsent } from '../shoots/shoot-calls.js';
import { isHostName } from './join-rules.js';
import { listAll } from './list-all.js';
import type { ShootAccesses } from './shoot-access.js';

interface Pod extends Named {
  uid: string;
  /** its deletion has begun */
  isEnding: boolean;
}

const pageSize = 250;
const evictionsAtOnce = 8;

/** @returns the number of remaining pods, including those whose deletion has only begun */
export async function evictPods(
  accesses: ShootAccesses,
  shoot: Named,
  nodeName: string,
  signal?: AbortSignal,
): Promise<number> {
  // An empty name would select the pods that have no node yet.
  if (!isHostName(nodeName)) throw new TypeError(`A node cannot have the name ${JSON.stringify(nodeName)}.`);
  const onNode = { fieldSelector: `spec.nodeName=${nodeName}` };
  const listed = { resource: 'pods', path: podsPath, query: onNode, pageSize };
  const pods = (await orAbsent(listAll(accesses, shoot, listed, podToEvict, signal))) ?? [];
  const waiting = pods.filter(({ isEnding }) => !isEnding);
  let gone = 0;
  const evictRest = async () => {
    try {
      for (let pod = waiting.shift(); pod !== undefined; pod = waiting.shift()) {
        if (!(await isThereAfterEviction(accesses, shoot, pod, signal))) gone += 1;
      }
    } catch (error) {
      waiting.length = 0;
      throw error;
    }
  };
  await Promise.all(Array.from({ length: evictionsAtOnce }, evictRest));
  return pods.length - gone;
}

/**
 * Selects the pods that must leave a node, by the rules of `kubectl drain --ignore-daemonsets --delete-emptydir-data
 * --force` (kubernetes: staging/src/k8s.io/kubectl/pkg/drain/filters.go).
 *
 * @returns null for pods that belong to the node itself, and for pods that have ended
 */
export function podToEvict(pod: JsonObject): Pod | null {
  const metadata = objectIn(pod, 'metadata');
  const name = textIn(metadata, 'name');
  const namespace = textIn(metadata, 'namespace');
  const uid = textIn(metadata, 'uid');
  if (name === null || namespace === null || uid === null) return null;
  const isMirror = 'kubernetes.io/config.mirror' in textMapIn(metadata, 'annotations');
  const owners = objectsIn(metadata, 'ownerReferences');
  const isOfDaemonSet = owners.some(({ kind, controller }) => kind === 'DaemonSet' && controller === true);
  const phase = textIn(objectIn(pod, 'status'), 'phase');
  if (isMirror || isOfDaemonSet || phase === 'Succeeded' || phase === 'Failed') return null;
  return { namespace, name, uid, isEnding: textIn(metadata, 'deletionTimestamp') !== null };
}

/**
 * kubernetes.io/docs/concepts/scheduling-eviction/api-eviction: 201 starts the deletion, 429 is a disruption budget, 500
 * a pod with two budgets. An answer about one pod must not stop the eviction of others.
 */
async function isThereAfterEviction(
  accesses: ShootAccesses,
  shoot: Named,
  { namespace, name, uid }: Pod,
  signal?: AbortSignal,
): Promise<boolean> {
  const eviction = createCall('pods/eviction', evictionPath({ namespace, name }), {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { namespace, name },
    deleteOptions: { preconditions: { uid } },
  });
  try {
    await accesses.perform(shoot, ofShoot(eviction), signal);
    return true;
  } catch (error) {
    if (isGardenError(error, 'not_found') || (isGardenError(error, 'conflict') && error.uidMismatch)) return false;
    if (isGardenError(error, 'throttled', 'conflict', 'refused', 'webhook_unavailable')) return true;
    if (isGardenError(error, 'uncertain') && error.status !== null) return true;
    throw error;
  }
}
