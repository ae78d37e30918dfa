import { Router } from 'express';
import { nodeResource } from '../cluster/node-writes.js';
import { readPatch } from '../http/read-body.js';
import { sendJson } from '../http/send-json.js';
import { unsupportedMediaType } from '../kube/status-error.js';
import type { ShootApiDeps } from './build-shoot-api.js';
import { nodeColumns } from './columns.js';
import { selected, sendObject, sendObjects } from './send-objects.js';
import { adminsOnly, checkDeleteOptions, deleted, param, shootOf } from './shoot-request.js';

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
    // Of what can be changed here the strategic kind makes the same.
    if (patch.type !== 'merge' && patch.type !== 'strategic') {
      throw unsupportedMediaType(['application/merge-patch+json', 'application/strategic-merge-patch+json']);
    }
    sendObject(res, clusters.patchNode(shootOf(res), param(req, 'name'), patch.body), rendering);
  });
  router.delete('/nodes/:name', adminsOnly(nodeResource, 'delete'), (req, res) => {
    const node = clusters.node(shootOf(res), param(req, 'name'));
    checkDeleteOptions(req, nodeResource, node);
    clusters.deleteNode(shootOf(res), node.metadata.name);
    sendJson(res, 200, deleted(nodeResource, node));
  });
  return router;
}
