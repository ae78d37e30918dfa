import type { ErrorRequestHandler, Request } from 'express';
import { sendJson } from '../../http/route-table.js';
import { type LabelTest, parseLabelSelector } from '../../labels.js';
import { cloudProfiles, configMaps, credentialsBindings, namespaces, projects, secrets } from '../kinds/core-kinds.js';
import { apiVersionOf, type Kind } from '../kinds/kind.js';
import {
  badRequest,
  internalError,
  pathNotFound,
  type ResourceName,
  StatusError,
  unsupportedMediaType,
} from '../kube/errors.js';
import { type Fields, isFields, type KubeObject } from '../kube/object.js';
import { shoots } from '../shoots/shoots.js';
import type { Held } from '../store.js';
import type { Patch } from '../writes.js';

export const BODY_BYTES_MAX = 3 * 1024 * 1024;

/** Every kind that the garden serves. */
export const allKinds: readonly Kind[] = [
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
  readonly verb: 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';
  /** Empty for cluster-scoped kinds and requests across namespaces. */
  readonly namespace: string;
  /** Empty for a collection. */
  readonly name: string;
  readonly subresource: string;
  readonly query: URLSearchParams;
}

const resourcePath =
  /^\/(?:api|apis\/([^/]+))\/([^/]+)(?:\/namespaces\/([^/]+))?\/([a-z]+)(?:\/([^/]+))?(?:\/([a-z]+))?$/;
const verbs = {
  GET: ['get', 'list'],
  POST: ['create', 'create'],
  PUT: ['update', 'update'],
  PATCH: ['patch', 'patch'],
  DELETE: ['delete', 'deletecollection'],
} as const;

/** @throws StatusError 404 for a path that is no resource */
export function readAsked(method: string, url: string): Asked {
  const [path = '', search] = url.split('?', 2);
  const query = new URLSearchParams(search);
  const [, group = '', version, namespace = '', plural, name = '', subresource = ''] =
    resourcePath.exec(decodeURI(path)) ?? [];
  const kind = allKinds.find((each) => each.group === group && each.version === version && each.plural === plural);
  const isKnown = subresource === '' || kind?.subresources?.includes(subresource) === true;
  const fits = kind?.namespaced === true ? namespace !== '' || name === '' : namespace === '';
  if (kind === undefined || !isKnown || !fits) throw pathNotFound();
  const [ofItem, ofCollection] = verbs[method as keyof typeof verbs] ?? verbs.GET;
  const verb = name === '' ? ofCollection : ofItem;
  const watches = verb === 'list' && /^(1|true)$/.test(query.get('watch') ?? '');
  return { kind, verb: watches ? 'watch' : verb, namespace, name, subresource, query };
}

/** The pattern under which a call of the garden's API is counted. */
export function kubePattern(path: string): string {
  const base = /^\/(?:api|apis\/[^/]+)\/[^/]+/.exec(path)?.[0];
  const [, , , namespace, plural, name, subresource] = resourcePath.exec(path) ?? [];
  if (base === undefined || plural === undefined) return /^\/(version|readyz|apis?)$/.test(path) ? path : 'unknown';
  const scope = namespace === undefined ? '' : '/namespaces/:namespace';
  return `${base}${scope}/${plural}${name === undefined ? '' : '/:name'}${subresource === undefined ? '' : `/${subresource}`}`;
}

const mediaTypeOf = (req: Request): string => (req.get('Content-Type') ?? '').split(';', 1)[0]?.trim() ?? '';

/** @throws StatusError 400 */
export function readBody(req: Request): Fields {
  const body = parseJson(req);
  if (!isFields(body)) throw badRequest('the body of the request is no object');
  return body;
}

function parseJson(req: Request): unknown {
  const text = Buffer.isBuffer(req.body) ? req.body.toString('utf8') : '';
  try {
    return JSON.parse(text || '{}');
  } catch (cause) {
    throw badRequest(`couldn't get version/kind; json parse error: ${(cause as Error).message}`);
  }
}

/** @throws StatusError 400 */
export function readObject(req: Request, kind: Pick<Kind, 'group' | 'version' | 'kind'>): KubeObject {
  const { apiVersion = apiVersionOf(kind), kind: bodyKind = kind.kind, metadata, ...fields } = readBody(req);
  if (bodyKind !== kind.kind || apiVersion !== apiVersionOf(kind)) {
    throw badRequest(`${bodyKind} in version "${apiVersion}" cannot be handled as a ${kind.kind}`);
  }
  return { ...fields, apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: isFields(metadata) ? metadata : {} };
}

const patchTypes = {
  'application/merge-patch+json': 'merge',
  'application/json-patch+json': 'json',
  'application/apply-patch+yaml': 'apply',
} as const;

/** Reads a patch in JSON, which is also YAML. @throws StatusError 400, 415 */
export function readPatch(req: Request, query: URLSearchParams): Patch {
  const type = patchTypes[mediaTypeOf(req) as keyof typeof patchTypes];
  if (type === undefined) throw unsupportedMediaType(Object.keys(patchTypes));
  const body = parseJson(req);
  if (type === 'apply') return { type, body, force: query.get('force') === 'true' };
  return { type, body, isStrict: query.get('fieldValidation') === 'Strict' };
}

export type Selection = (held: Held) => boolean;

/** What the namespace and the selectors of a list or watch select: labels, and `metadata.name` for kubectl. @throws StatusError 400 */
export function selectionOf({ namespace, query }: Asked): Selection {
  const hasLabels = labelTest(query.get('labelSelector') ?? '');
  const fields = query.get('fieldSelector') ?? '';
  const [, name] = /^metadata\.name=(.+)$/.exec(fields) ?? [];
  if (fields !== '' && name === undefined) throw badRequest(`field label not supported: ${fields}`);
  return (held) =>
    (namespace === '' || held.namespace === namespace) &&
    (name === undefined || held.name === name) &&
    hasLabels(held.labels);
}

/** @throws StatusError 400 */
export const labelTest = (selector: string): LabelTest =>
  parseLabelSelector(selector, (part) => badRequest(`unable to parse requirement: ${JSON.stringify(part)}`));

/** @returns 0 if it is not given. @throws StatusError 400 */
export function readCount(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? '';
  if (!/^\d{0,9}$/.test(text)) throw badRequest(`${name}: ${JSON.stringify(text)} is no count`);
  return Number(text);
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
  const refusal = error instanceof StatusError ? error : refusalOf(error);
  sendJson(res, refusal.code, refusal.toStatus());
};

function refusalOf({ status, message }: { status?: number; message?: string }): StatusError {
  if (status === 413)
    return new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${BODY_BYTES_MAX}`);
  return status === 400 ? badRequest(String(message)) : internalError(String(message));
}
