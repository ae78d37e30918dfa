import type { Request, RequestHandler, Response } from 'express';
import type { Clock } from '../../clock.js';
import type { CallCounts } from '../../faults/call-counts.js';
import type { FaultRules } from '../../faults/fault-rules.js';
import type { AccountName, Rights } from '../accounts.js';
import type { GardenSettings } from '../garden-settings.js';
import { required } from '../kube/field-error.js';
import { badRequest, invalidObject, methodNotAllowed, refusedByRbac } from '../kube/status-error.js';
import type { ObjectStore } from '../objects/object-store.js';
import type { Objects } from '../objects/objects.js';
import type { Preconditions, WriteOptions } from '../objects/preconditions.js';
import { checkNames } from '../objects/read-changes.js';
import { serveKubeconfigRequest } from '../shoot-api/kubeconfigs.js';
import type { ShootAuthorities } from '../shoot-api/shoot-authorities.js';
import { shapeFor } from './accept.js';
import { deletedStatus, sendJson, sendText } from './answers.js';
import { listPage, renderList } from './list.js';
import { metadataOnly } from './metadata-only.js';
import { readObject, readOptions, readPatch } from './read-body.js';
import { parseRequest, type RequestInfo } from './routes.js';
import type { Watches } from './watch.js';

export interface GardenUser {
  readonly name: string;
  readonly account: AccountName;
}

export interface GardenApiDeps {
  readonly store: ObjectStore;
  readonly authorities: ShootAuthorities;
  readonly objects: Objects;
  readonly watches: Watches;
  readonly clock: Clock;
  readonly faults: FaultRules;
  readonly calls: CallCounts;
  /** Keyed by bearer token. */
  readonly users: ReadonlyMap<string, GardenUser>;
  readonly rights: Rights;
  readonly settings: () => GardenSettings;
}

/** Serves all requests for resources. */
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
  const shape = shapeFor(req.get('Accept'), verb);
  switch (verb) {
    case 'get': {
      const object = deps.objects.get(kind, namespace, name);
      sendJson(res, 200, shape === 'whole' ? object : metadataOnly(object));
      break;
    }
    case 'list':
      sendText(res, 200, renderList(request, listPage(deps.store, request), shape));
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
      serveCreate(deps, request, req, res, user);
      break;
    default:
      throw methodNotAllowed();
  }
}

function servePatch(deps: GardenApiDeps, request: RequestInfo, req: Request, res: Response, user: string): void {
  const { kind, namespace, name, query } = request;
  const patch = readPatch(req, query.get('force') === 'true');
  if (patch.type === 'apply' && !query.get('fieldManager')) {
    const options = { group: 'meta.k8s.io', plural: '', kind: 'PatchOptions' };
    throw invalidObject(options, '', [required('fieldManager', 'is required for apply patch')]);
  }
  // An apply that creates an object needs the right to create (kube-apiserver: endpoints/handlers/patch.go).
  if (patch.type === 'apply' && deps.objects.find(kind, namespace, name) === null) {
    authorize(deps, { ...request, verb: 'create' }, res.locals.user as GardenUser);
  }
  const { object, created } = deps.objects.patch(kind, namespace, name, patch, writeOptions(request, req, user));
  sendJson(res, created ? 201 : 200, object);
}

function serveCreate(deps: GardenApiDeps, request: RequestInfo, req: Request, res: Response, user: string): void {
  const { kind, namespace } = request;
  const body = readObject(req, kind);
  checkNames(body, namespace, body.metadata.name ?? '');
  const { object } = deps.objects.create(kind, namespace, body, writeOptions(request, req, user));
  sendJson(res, 201, object);
}

function serveDelete(deps: GardenApiDeps, request: RequestInfo, req: Request, res: Response, user: string): void {
  const { kind, namespace, name, query } = request;
  const { preconditions = {} } = readOptions(req) as { preconditions?: Preconditions };
  // Dry runs of deletions are not supported: refuse instead of deleting.
  if (query.has('dryRun')) throw badRequest('the local garden has no dry run of deletions');
  const object = deps.objects.get(kind, namespace, name);
  const waiting = deps.objects.remove(kind, namespace, name, { user, preconditions });
  if (waiting !== null) sendJson(res, 200, waiting);
  else sendJson(res, 200, deletedStatus(kind, object));
}

/** Without a field manager, the name of the client program is used. */
const writeOptions = ({ query }: RequestInfo, req: Request, user: string): WriteOptions => ({
  user,
  fieldManager: query.get('fieldManager') ?? (req.get('User-Agent') || 'unknown').split('/', 1)[0]?.trim() ?? '',
  subresource: '',
  dryRun: query.has('dryRun'),
});

/** @throws StatusError 403, 405 */
function authorize({ rights }: GardenApiDeps, request: RequestInfo, { name: user, account }: GardenUser): void {
  const { kind, verb, namespace, name, subresource } = request;
  if (kind.namespaced && namespace === '' && verb !== 'list' && verb !== 'watch') throw methodNotAllowed();
  const resource = subresource === '' ? kind.plural : `${kind.plural}/${subresource}`;
  if (rights.allows(account, verb, kind.group, resource)) return;
  throw refusedByRbac(kind, { user, verb, name, namespace, subresource });
}
