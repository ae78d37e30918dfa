import type { Request, RequestHandler, Response } from 'express';
import type { Kind } from '../kinds/kind.js';
import { forbiddenField, notSupported, required, tooLong } from '../kube/field-error.js';
import type { KubeObject } from '../kube/object.js';
import { invalidObject, methodNotAllowed, refusedByRbac } from '../kube/status-error.js';
import { checkNames } from '../rest/read-changes.js';
import type { WriteOptions } from '../rest/write-options.js';
import { objectOf } from '../store/held.js';
import type { GardenApiDeps, GardenUser } from './build-garden-api.js';
import { serveKubeconfigRequest } from './kubeconfig-request.js';
import { listPage, renderList } from './list.js';
import { readObject, readOptions, readPatch } from './read-body.js';
import { parseRequest, type RequestInfo } from './request-info.js';
import { sendJson, sendText } from './send-json.js';
import { tableOf, wantsTable } from './tables.js';

const MANAGER_LENGTH_MAX = 128;

/** Serves every request for a resource. */
export function resourceHandler(deps: GardenApiDeps): RequestHandler {
  return async (req, res) => {
    const request = parseRequest(req.method, req.originalUrl);
    const caller = res.locals.user as GardenUser;
    const user = caller.name;
    authorize(deps, request, caller);
    if (/^(admin|viewer)kubeconfig$/.test(request.subresource)) {
      await serveKubeconfigRequest(deps, request, req, res, user);
    } else serve(deps, request, req, res, user);
  };
}

function serve(deps: GardenApiDeps, request: RequestInfo, req: Request, res: Response, user: string): void {
  const { kind, verb, namespace, name } = request;
  switch (verb) {
    case 'get':
      sendObject(deps, res, 200, kind, deps.objects.get(kind, namespace, name));
      break;
    case 'list':
      sendList(deps, request, res);
      break;
    case 'watch':
      deps.watches.serve(request, res);
      break;
    case 'delete':
      serveDelete(deps, request, req, res, user);
      break;
    case 'patch':
      servePatch(deps, request, req, res, user);
      break;
    case 'create':
    case 'update':
      serveWrite(deps, request, req, res, user);
      break;
    default:
      throw methodNotAllowed();
  }
}

function servePatch(deps: GardenApiDeps, request: RequestInfo, req: Request, res: Response, user: string): void {
  const { kind, namespace, name, query } = request;
  const patch = readPatch(req, query.get('force') === 'true');
  const options = writeOptions(request, user);
  if (patch.type === 'apply' && options.fieldManager === '') {
    throw invalidOptions('PatchOptions', required('fieldManager', 'is required for apply patch'));
  }
  if (patch.type !== 'apply' && query.has('force')) {
    throw invalidOptions('PatchOptions', forbiddenField('force', 'may not be specified for non-apply patch'));
  }
  // An apply that makes an object wants the right to make one (kube-apiserver: endpoints/handlers/patch.go).
  if (patch.type === 'apply' && deps.objects.find(kind, namespace, name) === null) {
    authorize(deps, { ...request, verb: 'create' }, res.locals.user as GardenUser);
  }
  const { object, created } = deps.objects.patch(kind, namespace, name, patch, named(options, req));
  sendObject(deps, res, created ? 201 : 200, kind, object);
}

function serveWrite(deps: GardenApiDeps, request: RequestInfo, req: Request, res: Response, user: string): void {
  const { kind, verb, namespace, name, query } = request;
  const { object: body, warnings } = readObject(req, kind, query.get('fieldValidation'));
  for (const warning of warnings) res.append('Warning', `299 - ${JSON.stringify(warning)}`);
  const options = named(writeOptions(request, user), req);
  checkNames(body, namespace, verb === 'create' ? (body.metadata.name ?? '') : name);
  const { object, created } =
    verb === 'create'
      ? deps.objects.create(kind, namespace, body, options)
      : deps.objects.update(kind, namespace, name, body, options);
  sendObject(deps, res, created ? 201 : 200, kind, object);
}

function serveDelete(deps: GardenApiDeps, request: RequestInfo, req: Request, res: Response, user: string): void {
  const { kind, namespace, name, query } = request;
  const body = readOptions(req) as { preconditions?: { uid?: string; resourceVersion?: string }; dryRun?: string[] };
  const dryRun = query.getAll('dryRun').includes('All') || body.dryRun?.includes('All') === true;
  const { uid } = deps.objects.get(kind, namespace, name).metadata;
  const { preconditions } = body;
  const options = { user, dryRun, ...(preconditions === undefined ? {} : { preconditions }) };
  const waiting = deps.objects.remove(kind, namespace, name, options);
  if (waiting !== null) sendObject(deps, res, 200, kind, waiting);
  else {
    const details = { name, ...(kind.group === '' ? {} : { group: kind.group }), kind: kind.plural, uid };
    sendJson(res, 200, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details });
  }
}

function sendList({ store, clock }: GardenApiDeps, request: RequestInfo, res: Response): void {
  const page = listPage(store, request);
  if (wantsTable(res.req.get('Accept') ?? '')) {
    const objects = page.items.map((held) => objectOf(held));
    const options = { metadata: page.metadata, includeObject: includeObjectOf(res), nowMs: clock.now() };
    sendJson(res, 200, tableOf(request.kind.columns, objects, options));
  } else sendText(res, 200, renderList(request, page));
}

function sendObject({ clock }: GardenApiDeps, res: Response, status: number, kind: Kind, object: KubeObject): void {
  if (wantsTable(res.req.get('Accept') ?? '')) {
    const { resourceVersion } = object.metadata;
    const options = { metadata: { resourceVersion }, includeObject: includeObjectOf(res), nowMs: clock.now() };
    sendJson(res, status, tableOf(kind.columns, [object], options));
  } else sendJson(res, status, object);
}

const includeObjectOf = ({ req }: Response): string | null =>
  new URLSearchParams(req.originalUrl.split('?')[1] ?? '').get('includeObject');

function writeOptions({ query }: RequestInfo, user: string): WriteOptions {
  const dryRun = query.getAll('dryRun').filter((value) => value !== '');
  if (dryRun.some((value) => value !== 'All')) {
    throw invalidOptions('PatchOptions', notSupported('dryRun', dryRun[0], ['All']));
  }
  const fieldManager = query.get('fieldManager') ?? '';
  if (fieldManager.length > MANAGER_LENGTH_MAX) {
    throw invalidOptions('PatchOptions', tooLong('fieldManager', MANAGER_LENGTH_MAX));
  }
  return { user, fieldManager, dryRun: dryRun.length > 0, subresource: '' };
}

/** A writer that gives no name is known by its program. */
function named(options: WriteOptions, req: Request): WriteOptions {
  if (options.fieldManager !== '') return options;
  const program = (req.get('User-Agent') ?? '').split('/', 1)[0]?.trim() ?? '';
  return { ...options, fieldManager: program === '' ? 'unknown' : program };
}

const invalidOptions = (kind: string, error: Parameters<typeof invalidObject>[2][number]) =>
  invalidObject({ group: 'meta.k8s.io', plural: '', kind }, '', [error]);

/** @throws StatusError 403, 405 */
function authorize({ rights }: GardenApiDeps, request: RequestInfo, { name: user, account }: GardenUser): void {
  const { kind, verb, namespace, name, subresource } = request;
  if (kind.namespaced && namespace === '' && verb !== 'list' && verb !== 'watch') throw methodNotAllowed();
  const resource = subresource === '' ? kind.plural : `${kind.plural}/${subresource}`;
  if (rights.allows(account, verb, kind.group, resource)) return;
  throw refusedByRbac(kind, { user, verb, name, namespace, subresource });
}
