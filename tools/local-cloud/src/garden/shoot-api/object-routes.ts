import type { Asked, RouteTable } from '../../http/route-table.js';
import type { Clusters } from '../cluster/clusters.js';
import { deletedStatus, readPatch } from '../http/requests.js';
import { badRequest, notFound, pathNotFound, type ResourceName, unsupportedMediaType } from '../kube/errors.js';
import { fieldAt, type KubeObject } from '../kube/object.js';
import type { Held } from '../store.js';

/** The kinds that every cluster serves. Others are there once their CustomResourceDefinition is. */
const builtIn: Readonly<Record<string, readonly string[]>> = {
  '': ['configmaps', 'namespaces', 'secrets', 'serviceaccounts', 'services'],
  apps: ['deployments'],
  'apiregistration.k8s.io': ['apiservices'],
  'apiextensions.k8s.io': ['customresourcedefinitions'],
  'networking.k8s.io': ['ingresses'],
  'rbac.authorization.k8s.io': ['clusterrolebindings', 'clusterroles', 'rolebindings', 'roles'],
};

const versions = ['/api/:version', '/apis/:group/:version'];

/** Objects of any kind in the cluster of a Shoot, without rules of their kinds: an apply replaces all but the status. */
export function objectRoutes(clusters: Clusters): RouteTable {
  const routes = versions.flatMap((version) =>
    ['', '/namespaces/:namespace'].map((scope): RouteTable => {
      const collection = `${version}${scope}/:plural`;
      return {
        [`GET ${collection}`]: (asked) => listObjects(clusters, asked),
        [`GET ${collection}/:name`]: (asked) => readObject(clusters, asked),
        [`PATCH ${collection}/:name`]: (asked) => applyObject(clusters, asked),
        [`DELETE ${collection}/:name`]: (asked) => {
          const object = readObject(clusters, asked);
          clusters.deleteObject(shootOf(asked), keyOf(clusters, asked));
          return deletedStatus(resourceOf(clusters, asked), object);
        },
      };
    }),
  );
  return Object.assign({}, ...routes) as RouteTable;
}

const shootOf = ({ res }: Asked): Held => res.locals.shoot as Held;

/** @throws StatusError 404 for a kind that the cluster does not serve */
function resourceOf(clusters: Clusters, asked: Asked): ResourceName {
  const [group, plural] = [asked.param('group'), asked.param('plural')];
  const definition = `apiextensions.k8s.io/customresourcedefinitions//${plural}.${group}`;
  const isServed = builtIn[group]?.includes(plural) || clusters.objects(shootOf(asked))[definition] !== undefined;
  if (!isServed) throw pathNotFound();
  return { group, plural, kind: plural };
}

const keyOf = (clusters: Clusters, asked: Asked): string => {
  const { group, plural } = resourceOf(clusters, asked);
  return `${group}/${plural}/${asked.param('namespace')}/${asked.param('name')}`;
};

function listObjects(clusters: Clusters, asked: Asked) {
  const prefix = keyOf(clusters, asked).slice(0, -1);
  const [field = '', value] = String(asked.req.query.fieldSelector ?? '').split('=');
  const items = Object.entries(clusters.objects(shootOf(asked))).flatMap(([key, object]) => {
    const isMeant = key.startsWith(prefix) || (prefix.endsWith('//') && key.startsWith(prefix.slice(0, -1)));
    return isMeant && (field === '' || fieldAt(object, ...field.split('.')) === value) ? object : [];
  });
  return { kind: 'List', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items };
}

/** @throws StatusError 404 */
function readObject(clusters: Clusters, asked: Asked): KubeObject {
  const object = clusters.objects(shootOf(asked))[keyOf(clusters, asked)];
  if (object === undefined) throw notFound(resourceOf(clusters, asked), asked.param('name'));
  return object;
}

function applyObject(clusters: Clusters, asked: Asked): KubeObject {
  const key = keyOf(clusters, asked);
  const { type, body } = readPatch(asked.req, new URLSearchParams());
  if (type !== 'apply') throw unsupportedMediaType(['application/apply-patch+yaml']);
  const manifest = body as unknown as KubeObject;
  if (fieldAt(manifest, 'metadata', 'name') !== asked.param('name')) throw badRequest('metadata.name does not match');
  const { status: _, ...declared } = manifest;
  return clusters.putObject(shootOf(asked), key, declared as KubeObject);
}
