import type { Request } from 'express';
import type { Clock } from '../../clock.js';
import type { Asked, RouteTable } from '../../http/route-table.js';
import { type Clusters, nodeResource, podResource } from '../cluster/clusters.js';
import type { Pod } from '../cluster/contents.js';
import { isReady, type Node } from '../cluster/nodes.js';
import { SYSTEM, TOKEN_TYPE } from '../cluster/secrets.js';
import { deletedStatus, labelTest, readBody, readObject, readPatch } from '../http/requests.js';
import { type Secret, secrets as secretKind } from '../kinds/core-kinds.js';
import { badRequest, forbidden, otherUid, type ResourceName, unsupportedMediaType } from '../kube/errors.js';
import { type Fields, fieldAt, type KubeObject } from '../kube/object.js';
import type { Held } from '../store.js';
import { objectRoutes } from './object-routes.js';

const shootOf = ({ res }: Asked): Held => res.locals.shoot as Held;
/** Those that nodes need have rules. Secrets of other namespaces are objects as others. */
const SECRETS = `/api/v1/namespaces/${SYSTEM}/secrets`;

/** What the services and `kubectl get nodes` use of the API server of a Shoot. */
export function clusterRoutes(clusters: Clusters, clock: Clock): RouteTable {
  const secretOf = (asked: Asked): Secret => clusters.secret(shootOf(asked), asked.param('name'));
  return {
    ...discovery,
    'GET /api/v1/nodes': (asked) => {
      const nodes = selected(asked.req, clusters.nodes(shootOf(asked)));
      const wantsTable = /;\s*as=Table\b/.test(asked.req.get('Accept') ?? '');
      return wantsTable ? tableOf(nodes, clock.now()) : listOf(nodeResource, nodes);
    },
    'GET /api/v1/nodes/:name': (asked) => clusters.node(shootOf(asked), asked.param('name')),
    'PATCH /api/v1/nodes/:name': (asked) => {
      const { type, body } = readPatch(asked.req, new URLSearchParams());
      if (type !== 'merge') throw unsupportedMediaType(['application/merge-patch+json']);
      return clusters.patchNode(shootOf(asked), asked.param('name'), body as Fields);
    },
    'DELETE /api/v1/nodes/:name': (asked) => {
      const node = clusters.node(shootOf(asked), asked.param('name'));
      clusters.deleteNode(shootOf(asked), node.metadata.name);
      return deletedStatus(nodeResource, node);
    },
    [`GET ${SECRETS}`]: (asked) => {
      return listOf(secretKind, selected(asked.req, clusters.secrets(shootOf(asked)), { type: ['type'] }));
    },
    [`GET ${SECRETS}/:name`]: secretOf,
    [`POST ${SECRETS}`]: (asked) => {
      const secret = readObject(asked.req, secretKind) as Secret;
      if (secret.type !== TOKEN_TYPE)
        throw forbidden(secretKind, '', `only Secrets of type ${TOKEN_TYPE} can be made here`);
      secret.metadata.namespace = SYSTEM;
      return clusters.createToken(shootOf(asked), secret);
    },
    [`DELETE ${SECRETS}/:name`]: (asked) => {
      const secret = secretOf(asked);
      clusters.deleteToken(shootOf(asked), asked.param('name'));
      return deletedStatus(secretKind, secret);
    },
    'GET /api/v1/pods': (asked) => {
      const pods = clusters.read(shootOf(asked)).pods.map(podObject);
      return listOf(podResource, selected(asked.req, pods, { 'spec.nodeName': ['spec', 'nodeName'] }));
    },
    'POST /api/v1/namespaces/:namespace/pods/:name/eviction': (asked) => {
      const pod = clusters.pod(shootOf(asked), asked.param('namespace'), asked.param('name'));
      const uid = fieldAt(readBody(asked.req), 'deleteOptions', 'preconditions', 'uid');
      if (uid !== undefined && uid !== pod.uid) throw otherUid(podResource, pod.name, uid, pod.uid);
      clusters.evictPod(shootOf(asked), pod);
      return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
    },
    ...objectRoutes(clusters),
  };
}

/** What `kubectl get nodes` needs. */
const discovery: RouteTable = {
  'GET /api': () => ({ kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] }),
  'GET /apis': () => ({ kind: 'APIGroupList', apiVersion: 'v1', groups: [] }),
  'GET /api/v1': () => {
    const verbs = ['delete', 'get', 'list', 'patch'];
    const nodes = { name: 'nodes', singularName: 'node', namespaced: false, kind: 'Node', verbs };
    return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: 'v1', resources: [nodes] };
  },
};

const listOf = ({ kind }: ResourceName, items: readonly KubeObject[]) => ({
  kind: `${kind}List`,
  apiVersion: 'v1',
  metadata: { resourceVersion: '1' },
  items,
});

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

function podObject({ namespace, name, uid, node, owner }: Pod): KubeObject {
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
