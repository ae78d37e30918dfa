import type { Request, Response } from 'express';
import type { Clock } from '../../clock.js';
import { param, type Routes } from '../../http/serve-routes.js';
import { notFound, otherUid, pathNotFound, unsupportedMediaType } from '../errors.js';
import { type Fields, fieldAt, type KubeObject } from '../object.js';
import { asked, deletedStatus, labelTest, readBody, readPatch } from '../requests.js';
import type { Held } from '../store.js';
import { type Clusters, nodeResource } from './clusters.js';
import { isReady, type Node } from './nodes.js';
import { configSecretsOf } from './secrets.js';

const shootOf = (res: Response): Held => res.locals.shoot as Held;

/** Nodes, and what `kubectl get nodes` needs to find them. */
export const nodeRoutes = (clusters: Clusters, clock: Clock): Routes => ({
  'GET /api': () => ({ kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] }),
  'GET /apis': () => ({ kind: 'APIGroupList', apiVersion: 'v1', groups: [] }),
  'GET /api/v1': () => {
    const verbs = ['delete', 'get', 'list', 'patch'];
    const nodes = { name: 'nodes', singularName: 'node', namespaced: false, kind: 'Node', verbs };
    return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: 'v1', resources: [nodes] };
  },
  'GET /api/v1/nodes': (req, res) => {
    const nodes = selected(req, clusters.nodes(shootOf(res)));
    const wantsTable = /;\s*as=Table\b/.test(req.get('Accept') ?? '');
    return wantsTable ? tableOf(nodes, clock.now()) : listOf('NodeList', nodes);
  },
  'GET /api/v1/nodes/:name': (req, res) => clusters.node(shootOf(res), param(req, 'name')),
  'PATCH /api/v1/nodes/:name': (req, res) => {
    const { type, body } = readPatch(req);
    if (type !== 'merge') throw unsupportedMediaType();
    return clusters.patchNode(shootOf(res), param(req, 'name'), body as Fields);
  },
  'DELETE /api/v1/nodes/:name': (req, res) => {
    const node = clusters.node(shootOf(res), param(req, 'name'));
    clusters.deleteNode(shootOf(res), node.metadata.name);
    return deletedStatus(nodeResource, node);
  },
});

/** The kinds that every cluster serves. Others are there once their CustomResourceDefinition is. */
const builtIn: Readonly<Record<string, readonly string[]>> = {
  '': ['configmaps', 'namespaces', 'pods', 'secrets', 'serviceaccounts', 'services'],
  apps: ['deployments'],
  'apiregistration.k8s.io': ['apiservices'],
  'apiextensions.k8s.io': ['customresourcedefinitions'],
  'networking.k8s.io': ['ingresses'],
  'rbac.authorization.k8s.io': ['clusterrolebindings', 'clusterroles', 'rolebindings', 'roles'],
};

/** Objects of any kind, without rules of their kinds: an apply replaces all but the status. */
export function objectRoutes(clusters: Clusters): Routes {
  const objectsOf = (req: Request, res: Response) => {
    const [group, plural] = [param(req, 'group'), param(req, 'plural')];
    const { objects: own } = clusters.read(shootOf(res));
    const definition = own[`apiextensions.k8s.io/customresourcedefinitions//${plural}.${group}`];
    if (!builtIn[group]?.includes(plural) && definition === undefined) throw pathNotFound();
    const objects = plural === 'secrets' ? { ...configSecretsOf(shootOf(res)), ...own } : own;
    return { objects, prefix: `${group}/${plural}/`, resource: { group, plural, kind: plural } };
  };
  /** @throws StatusError 404 */
  const objectOf = (req: Request, res: Response) => {
    const { objects, prefix, resource } = objectsOf(req, res);
    const key = `${prefix}${param(req, 'namespace')}/${param(req, 'name')}`;
    const object = objects[key];
    if (object === undefined) throw notFound(resource, param(req, 'name'));
    return { key, object, resource };
  };
  const put = (req: Request, res: Response, declared: KubeObject) => {
    const key = `${objectsOf(req, res).prefix}${param(req, 'namespace')}/${declared.metadata.name}`;
    return clusters.putObject(shootOf(res), key, declared);
  };
  const ofCollection = (collection: string): Routes => ({
    [`GET ${collection}`]: (req, res) => {
      const { objects, prefix } = objectsOf(req, res);
      const namespace = param(req, 'namespace');
      const start = namespace === '' ? prefix : `${prefix}${namespace}/`;
      const items = Object.entries(objects).flatMap(([key, object]) => (key.startsWith(start) ? object : []));
      return listOf('List', selected(req, items));
    },
    [`POST ${collection}`]: (req, res) => put(req, res, readBody(req) as KubeObject),
    [`GET ${collection}/:name`]: (req, res) => objectOf(req, res).object,
    [`PATCH ${collection}/:name`]: (req, res) => {
      const { type, body } = readPatch(req);
      if (type !== 'apply') throw unsupportedMediaType();
      const { status: _, ...declared } = body as KubeObject;
      return put(req, res, declared as KubeObject);
    },
    [`DELETE ${collection}/:name`]: (req, res) => {
      const { key, object, resource } = objectOf(req, res);
      clusters.deleteObject(shootOf(res), key);
      return deletedStatus(resource, object);
    },
  });
  return {
    'POST /api/v1/namespaces/:namespace/:plural/:name/eviction': (req, res) => {
      const { key, object, resource } = objectOf(req, res);
      const uid = fieldAt(readBody(req), 'deleteOptions', 'preconditions', 'uid');
      const own = object.metadata.uid;
      if (uid !== undefined && uid !== own) throw otherUid(resource, param(req, 'name'), uid, own);
      clusters.deleteObject(shootOf(res), key);
      return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
    },
    ...ofCollection('/api/v1/:plural'),
    ...ofCollection('/api/v1/namespaces/:namespace/:plural'),
    ...ofCollection('/apis/:group/:version/:plural'),
    ...ofCollection('/apis/:group/:version/namespaces/:namespace/:plural'),
  };
}

const listOf = (kind: string, items: readonly KubeObject[]) => ({
  kind,
  apiVersion: 'v1',
  metadata: { resourceVersion: '1' },
  items,
});

/** The objects that the selectors of a request select. */
function selected<T extends KubeObject>(req: Request, objects: readonly T[]): T[] {
  const hasLabels = labelTest(req);
  const [field = '', value] = asked(req, 'fieldSelector').split('=');
  return objects.filter(
    (object) =>
      hasLabels(object.metadata.labels ?? {}) && (field === '' || fieldAt(object, ...field.split('.')) === value),
  );
}

const columns = ['Name', 'Status', 'Roles', 'Version', 'Age'];

/** A `Table` with the columns of `kubectl get nodes`. */
const tableOf = (nodes: readonly Node[], nowMs: number) => ({
  kind: 'Table',
  apiVersion: 'meta.k8s.io/v1',
  metadata: {},
  columnDefinitions: columns.map((name) => ({ name, type: 'string', format: '', description: name, priority: 0 })),
  rows: nodes.map((node) => {
    const { metadata, status, spec } = node;
    const ready = isReady(node) ? 'Ready' : 'NotReady';
    const minutes = Math.floor((nowMs - Date.parse(metadata.creationTimestamp ?? '')) / 60_000);
    const shown = spec.unschedulable === true ? `${ready},SchedulingDisabled` : ready;
    return {
      cells: [metadata.name, shown, '<none>', status.nodeInfo.kubeletVersion, `${minutes}m`],
      object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata },
    };
  }),
});
