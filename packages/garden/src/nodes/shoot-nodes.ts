import type { JsonObject } from '@corral/contracts';
import type { CallDeps } from '../calls/call.js';
import { unusableError } from '../calls/call-errors.js';
import { objectIn, objectsIn, textIn, textMapIn } from '../calls/json.js';
import { type Named, nodePath, nodesPath } from '../calls/paths.js';
import { deleteCall, getCall, mergePatchCall, ofShoot } from '../calls/requests.js';
import { orAbsent } from '../shoots/shoot-calls.js';
import type { NodePatch, NodeReading, ShootNodes } from './client.js';
import { evictPods } from './evict-pods.js';
import { endJoin, joinData } from './join-data.js';
import { listAll } from './list-all.js';
import type { ShootAccesses } from './shoot-access.js';

const resource = 'nodes';

/** @param deps of the garden */
export function shootNodes(deps: CallDeps, accesses: ShootAccesses): ShootNodes {
  return {
    joinData: (shoot, request, signal) => joinData(deps, accesses, shoot, request, signal),
    endJoin: (shoot, nodeName, signal) => endJoin(accesses, shoot, nodeName, signal),
    readNode: (shoot, name, signal) => readNode(accesses, shoot, name, signal),
    async patchNode(shoot, name, patch, signal) {
      const call = ofShoot(mergePatchCall(resource, nodePath(name), deps.fieldManager, patchOf(patch)));
      await accesses.perform(shoot, call, signal);
    },
    evictPods: (shoot, name, signal) => evictPods(accesses, shoot, name, signal),
    async deleteNode(shoot, name, signal) {
      await orAbsent(accesses.perform(shoot, ofShoot(deleteCall(resource, nodePath(name))), signal));
    },
  };
}

async function readNode(
  accesses: ShootAccesses,
  shoot: Named,
  name: string,
  signal?: AbortSignal,
): Promise<NodeReading | null> {
  const call = ofShoot(getCall(resource, nodePath(name)));
  const answer = await orAbsent(accesses.perform(shoot, call, signal));
  if (answer === null) return null;
  const reading = parseNode(answer.body);
  if (reading === null) throw unusableError(call, `${answer.status} without an object's metadata`);
  return reading;
}

/** @returns null without the metadata that every stored object has */
function parseNode(node: JsonObject): NodeReading | null {
  const metadata = objectIn(node, 'metadata');
  const name = textIn(metadata, 'name');
  const uid = textIn(metadata, 'uid');
  if (name === null || uid === null) return null;
  const ready = objectsIn(objectIn(node, 'status'), 'conditions').find(({ type }) => type === 'Ready');
  return {
    name,
    uid,
    isReady: ready?.status === 'True',
    isUnschedulable: objectIn(node, 'spec').unschedulable === true,
    labels: textMapIn(metadata, 'labels'),
    annotations: textMapIn(metadata, 'annotations'),
    externalIps: objectsIn(objectIn(node, 'status'), 'addresses').flatMap((address) =>
      address.type === 'ExternalIP' ? (textIn(address, 'address') ?? []) : [],
    ),
  };
}

function patchOf({ labels, annotations, isUnschedulable }: NodePatch): JsonObject {
  return {
    metadata: { ...(labels && { labels }), ...(annotations && { annotations }) },
    ...(isUnschedulable !== undefined && { spec: { unschedulable: isUnschedulable } }),
  };
}

/** Maximum size of a page of nodes. Each is about 15 KB, and administrators of a Shoot can make them larger. */
export const nodeListBytesMax = 8 * 1024 * 1024;
const listed = { resource, query: {}, pageSize: 100, pagesMax: 20 };

/** Lists the nodes of a Shoot. @param accesses need read access only */
export function listNodes(accesses: ShootAccesses, shoot: Named, signal?: AbortSignal): Promise<NodeReading[]> {
  return listAll(accesses, shoot, { ...listed, path: nodesPath }, parseNode, signal);
}
