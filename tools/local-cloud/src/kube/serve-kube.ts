import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import { type Calls, countCall, injectFaults } from '../faults/calls.js';
import { sendJson } from '../http/serve-routes.js';
import { badRequest, internalError, pathNotFound, refusedByRbac, renderFault, StatusError } from './errors.js';
import type { Kind } from './kinds.js';
import { type Fields, fieldAt, isFields, type KubeObject } from './object.js';
import { asked, listPage, type Watches } from './reads.js';
import type { ObjectStore, Ref } from './store.js';
import type { Patch, Writes } from './writes.js';

/** Who asks, in which cluster, and what it may do there. */
export interface Visitor {
  readonly cluster: string;
  readonly user: string;
  readonly rules: readonly PolicyRule[];
}

/** A rule of a ClusterRole. A subresource is written `shoots/adminkubeconfig`. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const allows = ({ apiGroups, resources, verbs }: PolicyRule, verb: string, group: string, resource: string): boolean =>
  [[apiGroups, group] as const, [resources, resource] as const, [verbs, verb] as const].every(
    ([granted, wanted]) => granted.includes('*') || granted.includes(wanted),
  );

/** A request that an API answers by itself. */
export interface OwnRequest extends Pick<Ref, 'namespace' | 'name'> {
  readonly visitor: Visitor;
  readonly body: Fields;
}

/** One Kubernetes API, of the garden or of all Shoots. */
export interface KubeApi {
  readonly name: 'garden' | 'shoot';
  readonly calls: Calls;
  readonly store: ObjectStore;
  readonly writes: Writes;
  readonly watches: Watches;
  /** Finds out who asks; null if it has ended the request. @throws StatusError 401 */
  enter(req: Request): Visitor | null;
  /** What requests pass before they are answered. */
  readonly beside?: RequestHandler;
  /** @returns undefined for a kind that is not served */
  kindOf(cluster: string, path: KubePath): Kind | undefined;
  /** Documents that everybody may read, such as those of discovery. */
  documentAt(path: string, cluster: string): unknown;
  /** By `resource/subresource`, what is created there. */
  readonly creations: Readonly<Record<string, (request: OwnRequest) => unknown>>;
  /** A `Table` for kubectl, of the kinds that have one. */
  tableOf?(ref: Ref, req: Request): unknown;
}

/** What a path names. Empty parts are not there. */
export interface KubePath extends Pick<Ref, 'namespace' | 'name'> {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly subresource: string;
}

const pathForm =
  /^\/(?:api|apis\/(?<group>[^/]+))\/(?<version>[^/]+)(?:\/namespaces\/(?<namespace>[^/]+)(?=\/))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+))?(?:\/(?<subresource>[^/]+))?$/;

/** @returns null for a path that names no resource */
export function readPath(path: string): KubePath | null {
  const parts: Partial<KubePath> | undefined = pathForm.exec(decodeURIComponent(path))?.groups;
  if (parts === undefined) return null;
  const { group = '', version = '', namespace = '', plural = '', name = '', subresource = '' } = parts;
  return { group, version, namespace, plural, name, subresource };
}

/** The pattern of a path, whose parameters are the namespace and the name. */
function patternOf({ path }: Request): string {
  const { namespace, plural, name } = readPath(path) ?? {};
  const inNamespace = path.replace(`/namespaces/${namespace}/`, '/namespaces/:namespace/');
  return inNamespace.replace(`/${plural}/${name}`, `/${plural}/:name`);
}

const BODY_BYTES_MAX = 3 * 1024 * 1024;

/** Serves lists, watches and single objects of all kinds. Each request is counted and may meet a fault before it is answered. */
export function buildKubeApi(api: KubeApi): Express {
  const app = express();
  app.disable('x-powered-by');
  app.use(
    countCall(api.calls, patternOf, api.name === 'shoot' ? 'shoot ' : ''),
    injectFaults(api.calls, renderFault, api.name),
    // Read the body first: a Shoot must not change between the check and the response.
    express.raw({ type: () => true, limit: BODY_BYTES_MAX }),
    (req, res, next) => {
      const visitor = api.enter(req);
      if (visitor === null) return;
      res.locals.visitor = visitor;
      next();
    },
    ...(api.beside === undefined ? [] : [api.beside]),
    (req, res) => {
      const body = answer(api, req, res);
      if (body !== undefined) sendJson(res, res.statusCode, body);
    },
  );
  app.use(sendStatusError);
  return app;
}

export const visitorOf = (res: Response): Visitor => res.locals.visitor as Visitor;

/** @returns the body of an answer in JSON; undefined if it is sent already */
function answer(api: KubeApi, req: Request, res: Response): unknown {
  const visitor = visitorOf(res);
  const document = req.method === 'GET' ? api.documentAt(req.path, visitor.cluster) : undefined;
  if (document !== undefined) return document;
  const path = readPath(req.path);
  if (path === null) throw pathNotFound();
  const { plural, subresource, namespace, name } = path;
  const resource = subresource === '' ? plural : `${plural}/${subresource}`;
  const create = req.method === 'POST' ? api.creations[resource] : undefined;
  const kind = api.kindOf(visitor.cluster, path);
  const verb = verbOf(req, name === '');
  const authorize = (wanted: Verb): void => {
    if (kind === undefined || visitor.rules.some((rule) => allows(rule, wanted, kind.group, resource))) return;
    throw refusedByRbac(kind, { user: visitor.user, verb: wanted, resource, namespace, name });
  };
  if (create !== undefined) {
    authorize('create');
    res.status(201);
    return create({ visitor, namespace, name, body: readBody(req) });
  }
  if (kind === undefined || verb === null || subresource !== '') throw pathNotFound();
  authorize(verb);
  const ref: Ref = { cluster: visitor.cluster, kind, namespace, name };
  return verbs[verb]({ api, ref, req, res, authorize });
}

type Verb = 'list' | 'watch' | 'get' | 'create' | 'patch' | 'delete';

/** The verb of role-based access control. @returns null for a method that is not served */
function verbOf(req: Request, isCollection: boolean): Verb | null {
  if (req.method === 'GET' && isCollection) return /^(1|true)$/.test(asked(req, 'watch')) ? 'watch' : 'list';
  if (req.method === 'GET') return 'get';
  if (req.method === 'POST') return 'create';
  if (isCollection) return null;
  if (req.method === 'PATCH') return 'patch';
  return req.method === 'DELETE' ? 'delete' : null;
}

interface Work {
  readonly api: KubeApi;
  readonly ref: Ref;
  readonly req: Request;
  readonly res: Response;
  /** @throws StatusError 403 */
  authorize(verb: Verb): void;
}

const verbs: Readonly<Record<Verb, (work: Work) => unknown>> = {
  watch: ({ api, ref, req, res }) => api.watches.serve(ref, req, res),
  list({ api, ref, req }) {
    const table = /;\s*as=Table\b/.test(req.get('Accept') ?? '') ? api.tableOf?.(ref, req) : undefined;
    return table ?? listPage(api.store, ref, req);
  },
  get: ({ api, ref }) => api.store.get(ref).object,
  create({ api, ref, req, res }) {
    const object = readBody(req) as KubeObject;
    const name = String(fieldAt(object, 'metadata', 'name') ?? '');
    res.status(201);
    return api.writes.create({ ...ref, name }, object, managerOf(req));
  },
  patch({ api, ref, req, res, authorize }) {
    const patch = readPatch(req);
    // An apply that creates an object needs the right to create (kube-apiserver: endpoints/handlers/patch.go).
    if (patch.type === 'apply' && api.store.find(ref) === null) {
      authorize('create');
      res.status(201);
    }
    return api.writes.patch(ref, patch, managerOf(req));
  },
  delete({ api, ref, req }) {
    const object = api.writes.remove(ref, fieldAt(readBody(req), 'preconditions', 'uid'));
    return object.metadata.deletionTimestamp === undefined ? success : object;
  },
};

/** Without a field manager, the name of the client program is used. */
const managerOf = (req: Request): string =>
  asked(req, 'fieldManager') || (req.get('User-Agent') ?? 'unknown').split('/', 1)[0] || '';

/** The answer to what leaves no object. */
export const success = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' } as const;

/** @throws StatusError 400 */
function readBody(req: Request): Fields {
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

const patchTypes = {
  'application/merge-patch+json': 'merge',
  'application/json-patch+json': 'json',
  'application/apply-patch+yaml': 'apply',
} as const;

/** Reads a patch in JSON, which is also YAML. @throws StatusError 400, 415 */
function readPatch(req: Request): Patch {
  const [mediaType = ''] = (req.get('Content-Type') ?? '').split(';');
  const type = patchTypes[mediaType as keyof typeof patchTypes];
  if (type === undefined) throw new StatusError(415, 'the body of the request was in an unknown format');
  const body = parseJson(req);
  if (type === 'apply') return { type, body, force: asked(req, 'force') === 'true' };
  return { type, body, isStrict: asked(req, 'fieldValidation') === 'Strict' };
}

/** Answers errors with a Status, unexpected ones too. */
const sendStatusError: ErrorRequestHandler = (error, _req, res, _next) => {
  const refusal = error instanceof StatusError ? error : internalError(String(error.message));
  sendJson(res, refusal.code, refusal.toStatus());
};
