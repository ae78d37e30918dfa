import { Router } from 'express';
import { nodeResource } from '../cluster/node-writes.js';
import { isReady, type Node } from '../cluster/nodes.js';
import { deletedStatus, sendJson } from '../http/answers.js';
import { readPatch } from '../http/read-body.js';
import { type Column, textColumn } from '../kinds/kind.js';
import type { KubeObject } from '../kube/object.js';
import { unsupportedMediaType } from '../kube/status-error.js';
import type { ShootApiDeps } from './requests.js';
import { adminsOnly, checkDeleteOptions, param, selected, sendObject, sendObjects, shootOf } from './requests.js';

const infoOf = (object: KubeObject) => (object as Node).status.nodeInfo;

function statusOf(object: KubeObject): string {
  const node = object as Node;
  const ready = isReady(node) ? 'Ready' : 'NotReady';
  return node.spec.unschedulable === true ? `${ready},SchedulingDisabled` : ready;
}

/** Columns of `kubectl get nodes` before the age. */
const nodeColumns: readonly Column[] = [
  textColumn('Status', statusOf),
  textColumn('Roles', () => '<none>'),
  textColumn('Version', (node) => infoOf(node).kubeletVersion),
  textColumn('OS-Image', (node) => infoOf(node).osImage, 1),
  textColumn('Kernel-Version', (node) => infoOf(node).kernelVersion, 1),
  textColumn('Container-Runtime', (node) => infoOf(node).containerRuntimeVersion, 1),
];

/** Mounted at `/api/v1`. */
export function nodeRoutes({ clusters, clock }: ShootApiDeps): Router {
  const router = Router();
  const rendering = { clock, columns: nodeColumns };
  router.get('/nodes', (req, res) => {
    const shoot = shootOf(res);
    const nodes = selected(req, clusters.nodes(shoot), {
      'spec.unschedulable': ({ spec }) => String(spec.unschedulable === true),
    });
    sendObjects(res, nodeResource, nodes, { ...rendering, revision: clusters.read(shoot).revision });
  });
  router.get('/nodes/:name', (req, res) => {
    sendObject(res, clusters.node(shootOf(res), param(req, 'name')), rendering);
  });
  router.patch('/nodes/:name', adminsOnly(nodeResource, 'patch'), (req, res) => {
    const patch = readPatch(req, false);
    if (patch.type !== 'merge') throw unsupportedMediaType(['application/merge-patch+json']);
    sendObject(res, clusters.patchNode(shootOf(res), param(req, 'name'), patch.body), rendering);
  });
  router.delete('/nodes/:name', adminsOnly(nodeResource, 'delete'), (req, res) => {
    const node = clusters.node(shootOf(res), param(req, 'name'));
    checkDeleteOptions(req, nodeResource, node);
    clusters.deleteNode(shootOf(res), node.metadata.name);
    sendJson(res, 200, deletedStatus(nodeResource, node));
  });
  return router;
}
