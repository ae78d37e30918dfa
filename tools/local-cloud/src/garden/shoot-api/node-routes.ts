import { type Request, Router } from 'express';
import { nodeResource } from '../cluster/node-writes.js';
import { isReady, type Node } from '../cluster/nodes.js';
import { deletedStatus, sendJson } from '../http/answers.js';
import { readPatch } from '../http/read-body.js';
import { unsupportedMediaType } from '../kube/status-error.js';
import type { ShootApiDeps } from './requests.js';
import { adminsOnly, checkDeleteOptions, param, selected, sendObjects, shootOf } from './requests.js';

/** Mounted at `/api/v1`. */
export function nodeRoutes({ clusters, clock }: ShootApiDeps): Router {
  const router = Router();
  router.get('/nodes', (req, res) => {
    const nodes = selected(req, clusters.nodes(shootOf(res)));
    if (wantsTable(req)) sendJson(res, 200, tableOf(nodes, clock.now()));
    else sendObjects(res, nodeResource, nodes, clusters.read(shootOf(res)).revision);
  });
  router.get('/nodes/:name', (req, res) => {
    const node = clusters.node(shootOf(res), param(req, 'name'));
    sendJson(res, 200, wantsTable(req) ? tableOf([node], clock.now()) : node);
  });
  router.patch('/nodes/:name', adminsOnly(nodeResource, 'patch'), (req, res) => {
    const patch = readPatch(req, false);
    if (patch.type !== 'merge') throw unsupportedMediaType(['application/merge-patch+json']);
    sendJson(res, 200, clusters.patchNode(shootOf(res), param(req, 'name'), patch.body));
  });
  router.delete('/nodes/:name', adminsOnly(nodeResource, 'delete'), (req, res) => {
    const node = clusters.node(shootOf(res), param(req, 'name'));
    checkDeleteOptions(req, nodeResource, node);
    clusters.deleteNode(shootOf(res), node.metadata.name);
    sendJson(res, 200, deletedStatus(nodeResource, node));
  });
  return router;
}

/** Whether the client requests a table, as kubectl does. */
const wantsTable = (req: Request): boolean => /;\s*as=Table\b/.test(req.get('Accept') ?? '');

/** Renders a `Table` of `meta.k8s.io/v1` with the columns of `kubectl get nodes`. */
function tableOf(nodes: readonly Node[], nowMs: number) {
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: {},
    columnDefinitions: ['Name', 'Status', 'Roles', 'Version', 'Age'].map((name) => ({
      name,
      type: 'string',
      format: name === 'Name' ? 'name' : '',
      description: name,
      priority: 0,
    })),
    rows: nodes.map((node) => ({
      cells: [node.metadata.name, statusOf(node), '<none>', node.status.nodeInfo.kubeletVersion, ageOf(node, nowMs)],
      object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: node.metadata },
    })),
  };
}

function statusOf(node: Node): string {
  const ready = isReady(node) ? 'Ready' : 'NotReady';
  return node.spec.unschedulable === true ? `${ready},SchedulingDisabled` : ready;
}

/** In the largest unit of which there are two. */
function ageOf({ metadata }: Node, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - Date.parse(metadata.creationTimestamp ?? '')) / 1000));
  const units = [
    ['d', 86_400],
    ['h', 3600],
    ['m', 60],
  ] as const;
  const [unit, length] = units.find((each) => seconds >= 2 * each[1]) ?? ['s', 1];
  return `${Math.floor(seconds / length)}${unit}`;
}
