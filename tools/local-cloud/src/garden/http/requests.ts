import type { ErrorRequestHandler, Request } from 'express';
import { sendJson } from '../../http/route-table.js';
import { parseLabelSelector } from '../../labels.js';
import { cloudProfiles, configMaps, credentialsBindings, namespaces, projects, secrets } from '../kinds/core-kinds.js';
import type { Kind } from '../kinds/kind.js';
import { internalError, pathNotFound, type ResourceName, StatusError } from '../kube/errors.js';
import { type Fields, fieldAt, type KubeObject } from '../kube/object.js';
import { shoots } from '../shoots/shoots.js';
import type { Held } from '../store.js';
import type { Patch } from '../writes.js';

export const BODY_BYTES_MAX = 3 * 1024 * 1024;

/** Every kind that the garden serves. */
const allKinds: readonly Kind[] = [
  namespaces,
  secrets,
  configMaps,
  projects,
  credentialsBindings,
  cloudProfiles,
  shoots,
] as readonly Kind[];

/** What a request asks for. */
export interface Asked {
  readonly kind: Kind;
  readonly verb: 'get' | 'list' | 'watch' | 'create' | 'patch' | 'delete';
  /** Empty for cluster-scoped kinds and requests across namespaces. */
  readonly namespace: string;
  /** Empty for a collection. */
  readonly name: string;
  readonly subresource: string;
  readonly query: URLSearchParams;
}

const resourcePath =
  /^\/(?:api|apis\/([^/]+))\/([^/]+)(?:\/namespaces\/([^/]+))?\/([a-z]+)(?:\/([^/]+))?(?:\/([a-z]+))?$/;
/** Verbs for one object. Only subresources are created: objects are applied. */
const verbs: Readonly<Record<string, Asked['verb']>> = { GET: 'get', POST: 'create', PATCH: 'patch', DELETE: 'delete' };

/** @throws StatusError 404 for what is no resource, or no call of Corral */
export function readAsked(method: string, url: string): Asked {
  const [path = '', search] = url.split('?', 2);
  const query = new URLSearchParams(search);
  const [, group = '', version, namespace = '', plural, name = '', subresource = ''] =
    resourcePath.exec(decodeURI(path)) ?? [];
  const kind = allKinds.find((each) => each.group === group && each.version === version && each.plural === plural);
  const isKnown = subresource === '' || kind?.subresources?.includes(subresource) === true;
  const fits = kind?.namespaced === true ? namespace !== '' || name === '' : namespace === '';
  const ofCollection = query.get('watch') === 'true' ? 'watch' : 'list';
  const verb = name === '' && method === 'GET' ? ofCollection : verbs[method];
  const isServed = isKnown && (verb === 'create') === (subresource !== '');
  if (kind === undefined || verb === undefined || !isServed || !fits) throw pathNotFound();
  return { kind, verb, namespace, name, subresource, query };
}

/** The pattern under which a call of the garden's API is counted. */
export function kubePattern(path: string): string {
  const base = /^\/(?:api|apis\/[^/]+)\/[^/]+/.exec(path)?.[0];
  const [, , , namespace, plural, name, subresource] = resourcePath.exec(path) ?? [];
  if (base === undefined || plural === undefined) return path === '/readyz' ? path : 'unknown';
  const scope = namespace === undefined ? '' : '/namespaces/:namespace';
  return `${base}${scope}/${plural}${name === undefined ? '' : '/:name'}${subresource === undefined ? '' : `/${subresource}`}`;
}

/** Empty if there is none. */
export const readBody = ({ body }: Request): Fields =>
  JSON.parse(Buffer.isBuffer(body) && body.length > 0 ? body.toString() : '{}') as Fields;

/** Reads a patch in JSON, which is also YAML. */
export function readPatch(req: Request, query: URLSearchParams): Patch {
  const body = readBody(req);
  const isApply = req.get('Content-Type')?.startsWith('application/apply-patch+yaml');
  return isApply ? { type: 'apply', body, force: query.get('force') === 'true' } : { type: 'merge', body };
}

export type Selection = (held: Held) => boolean;

/** What the namespace and the labels of a list or watch select. */
export function selectionOf({ namespace, query }: Asked): Selection {
  const hasLabels = parseLabelSelector(query.get('labelSelector') ?? '');
  return (held) => (namespace === '' || held.namespace === namespace) && hasLabels(held.labels);
}

/** The same for objects in the cluster of a Shoot, and for one field, as in `spec.nodeName=web`. */
export function selected<T extends KubeObject>({ query }: Request, objects: readonly T[]): T[] {
  const hasLabels = parseLabelSelector(String(query.labelSelector ?? ''));
  const [field = '', value] = String(query.fieldSelector ?? '').split('=');
  return objects.filter(
    (object) =>
      hasLabels(object.metadata.labels ?? {}) && (field === '' || fieldAt(object, ...field.split('.')) === value),
  );
}

/** The answer to a deletion of an object without finalizers. */
export const deletedStatus = ({ group, plural }: ResourceName, { metadata: { name, uid } }: KubeObject) => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  details: { name, ...(group === '' ? {} : { group }), kind: plural, uid },
});

/** Answers errors with a Status, including those of Express and unexpected ones. */
export const sendStatusError: ErrorRequestHandler = (error, _req, res, _next) => {
  const refusal = error instanceof StatusError ? error : internalError(String(error.message));
  sendJson(res, refusal.code, refusal.toStatus());
};
