import { type Request, type RequestHandler, type Response, Router } from 'express';
import type { Clock } from '../../clock.js';
import { type Clusters, nodeResource, podResource } from '../cluster/clusters.js';
import { isReady, type Node } from '../cluster/nodes.js';
import { SYSTEM, TOKEN_TYPE } from '../cluster/secrets.js';
import { deletedStatus, sendJson } from '../http/answers.js';
import { labelTest } from '../http/lists.js';
import { readBody, readObject, readPatch } from '../http/requests.js';
import { type Secret, secrets as secretKind } from '../kinds/core-kinds.js';
import { type Fields, fieldAt, type KubeObject } from '../kube/object.js';
import { badRequest, forbidden, type ResourceName, refusedByRbac, unsupportedMediaType } from '../kube/status-error.js';
import type { Held } from '../store.js';
import { otherUid } from '../writes.js';

/** The caller, according to the client certificate. */
export interface ShootUser {
  readonly name: string;
  readonly isViewer: boolean;
}

export const shootOf = (res: Response): Held => res.locals.shoot as Held;
const param = (req: Request, name: string): string => String(req.params[name] ?? '');

/** What the services and `kubectl get nodes` use of the API server of a Shoot. Mounted at `/api/v1`. */
export function shootRoutes(clusters: Clusters, clock: Clock): Router {
  const router = Router();
  router.use(refuseViewers);
  router.get('/nodes', (req, res) => {
    const nodes = selected(req, clusters.nodes(shootOf(res)));
    const wantsTable = /;\s*as=Table\b/.test(req.get('Accept') ?? '');
    if (wantsTable) sendJson(res, 200, tableOf(nodes, clock.now()));
    else sendObjects(res, nodeResource, nodes);
  });
  router.get('/nodes/:name', (req, res) => sendJson(res, 200, clusters.node(shootOf(res), param(req, 'name'))));
  router.patch('/nodes/:name', (req, res) => {
    const patch = readPatch(req, false);
    if (patch.type !== 'merge') throw unsupportedMediaType(['application/merge-patch+json']);
    sendJson(res, 200, clusters.patchNode(shootOf(res), param(req, 'name'), patch.body as Fields));
  });
  router.delete('/nodes/:name', (req, res) => {
    const node = clusters.node(shootOf(res), param(req, 'name'));
    clusters.deleteNode(shootOf(res), node.metadata.name);
    sendJson(res, 200, deletedStatus(nodeResource, node));
  });

  const secretsPath = `/namespaces/${SYSTEM}/secrets`;
  router.get(secretsPath, (req, res) => {
    sendObjects(res, secretKind, selected(req, clusters.secrets(shootOf(res)), { type: ['type'] }));
  });
  router.get(`${secretsPath}/:name`, (req, res) =>
    sendJson(res, 200, clusters.secret(shootOf(res), param(req, 'name'))),
  );
  router.post(secretsPath, (req, res) => {
    const secret = readObject(req, secretKind) as Secret;
    if (secret.type !== TOKEN_TYPE)
      throw forbidden(secretKind, '', `only Secrets of type ${TOKEN_TYPE} can be made here`);
    secret.metadata.namespace = SYSTEM;
    sendJson(res, 201, clusters.createToken(shootOf(res), secret));
  });
  router.delete(`${secretsPath}/:name`, (req, res) => {
    const secret = clusters.secret(shootOf(res), param(req, 'name'));
    clusters.deleteToken(shootOf(res), param(req, 'name'));
    sendJson(res, 200, deletedStatus(secretKind, secret));
  });

  router.get('/pods', (req, res) => {
    const pods = clusters.read(shootOf(res)).pods.map(podObject);
    sendObjects(res, podResource, selected(req, pods, { 'spec.nodeName': ['spec', 'nodeName'] }));
  });
  router.post('/namespaces/:namespace/pods/:name/eviction', (req, res) => {
    const pod = clusters.pod(shootOf(res), param(req, 'namespace'), param(req, 'name'));
    const uid = fieldAt(readBody(req), 'deleteOptions', 'preconditions', 'uid');
    if (uid !== undefined && uid !== pod.uid) throw otherUid(podResource, pod.name, uid, pod.uid);
    clusters.evictPod(shootOf(res), pod);
    sendJson(res, 201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
  });
  return router;
}

/** A kubeconfig for viewers opens neither Secrets nor writes. */
const refuseViewers: RequestHandler = (req, res, next) => {
  const { name: user, isViewer } = res.locals.user as ShootUser;
  const isOpen = req.method === 'GET' && !req.path.includes('/secrets');
  if (isViewer && !isOpen) {
    const asked = { user, verb: req.method === 'GET' ? 'list' : 'update', name: '', namespace: '', subresource: '' };
    throw refusedByRbac(secretKind, asked);
  }
  if (req.query.dryRun !== undefined) throw badRequest('dryRun is not known to the API servers of local Shoots');
  next();
};

function sendObjects(res: Response, { kind }: ResourceName, items: readonly KubeObject[]): void {
  sendJson(res, 200, { kind: `${kind}List`, apiVersion: 'v1', metadata: { resourceVersion: '1' }, items });
}

/** The objects that the selectors select. @param fields what a selector `field=value` can name, with its path */
function selected<T extends KubeObject>(
  { query }: Request,
  objects: readonly T[],
  fields: Readonly<Record<string, readonly string[]>> = {},
): T[] {
  const hasLabels = labelTest(String(query.labelSelector ?? ''));
  const [field = '', value] = String(query.fieldSelector ?? '').split('=');
  const path = fields[field];
  if (field !== '' && path === undefined) throw badRequest(`field label not supported: ${field}`);
  return objects.filter(
    (object) => hasLabels(object.metadata.labels ?? {}) && (path === undefined || fieldAt(object, ...path) === value),
  );
}

function podObject({ namespace, name, uid, node, owner }: ReturnType<Clusters['pod']>): KubeObject {
  const metadata = {
    name,
    namespace,
    uid,
    ...(owner === 'Node' ? { annotations: { 'kubernetes.io/config.mirror': uid } } : {}),
    ownerReferences: [{ apiVersion: 'v1', kind: owner, name: node, uid, controller: true }],
  };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName: node }, status: { phase: 'Running' } };
}

const columns = ['Name', 'Status', 'Roles', 'Version', 'Age'];

/** A `Table` with the columns of `kubectl get nodes`. */
const tableOf = (nodes: readonly Node[], nowMs: number) => ({
  kind: 'Table',
  apiVersion: 'meta.k8s.io/v1',
  metadata: {},
  columnDefinitions: columns.map((name) => ({ name, type: 'string', format: '', description: name, priority: 0 })),
  rows: nodes.map(({ metadata, status, spec, ...node }) => {
    const ready = isReady({ ...node, metadata, spec, status } as Node) ? 'Ready' : 'NotReady';
    const minutes = Math.floor((nowMs - Date.parse(metadata.creationTimestamp ?? '')) / 60_000);
    const shown = spec.unschedulable === true ? `${ready},SchedulingDisabled` : ready;
    return {
      cells: [metadata.name, shown, '<none>', status.nodeInfo.kubeletVersion, `${minutes}m`],
      object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata },
    };
  }),
});
