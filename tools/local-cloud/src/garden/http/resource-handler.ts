import type { Request, RequestHandler, Response } from 'express';
import type { Clock } from '../../clock.js';
import type { CallCounts } from '../../faults/call-counts.js';
import type { FaultRules } from '../../faults/fault-rules.js';
import type { AccountName, Rights } from '../accounts.js';
import type { GardenSettings } from '../garden-settings.js';
import type { Kind } from '../kinds/kind.js';
import { required } from '../kube/field-error.js';
import type { KubeObject } from '../kube/object.js';
import { badRequest, invalidObject, methodNotAllowed, refusedByRbac } from '../kube/status-error.js';
import { objectOf } from '../objects/held.js';
import type { ObjectStore } from '../objects/object-store.js';
import type { Objects } from '../objects/objects.js';
import type { Preconditions, WriteOptions } from '../objects/preconditions.js';
import { checkNames } from '../objects/read-changes.js';
import { serveKubeconfigRequest } from '../shoot-api/kubeconfigs.js';
import type { ShootAuthorities } from '../shoot-api/shoot-authorities.js';
import { deletedStatus, sendJson, sendText } from './answers.js';
import { listPage, renderList } from './list.js';
import { readObject, readOptions, readPatch } from './read-body.js';
import { parseRequest, type RequestInfo } from './routes.js';
import { tableOf, wantsTable } from './tables.js';
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
      const secondsMax = () => deps.settings().kubeconfigSecondsMax;
      await serveKubeconfigRequest({ ...deps, secondsMax }, request, req, res, user);
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
    const options = { group: 'meta.k8s.io', plural: '', kind: 'PatchOptions' };
    throw invalidObject(options, '', [required('fieldManager', 'is required for apply patch')]);
  }
  // An apply that creates an object needs the right to create (kube-apiserver: endpoints/handlers/patch.go).
  if (patch.type === 'apply' && deps.objects.find(kind, namespace, name) === null) {
    authorize(deps, { ...request, verb: 'create' }, res.locals.user as GardenUser);
  }
  const { object, created } = deps.objects.patch(kind, namespace, name, patch, named(options, req));
  sendObject(deps, res, created ? 201 : 200, kind, object);
}

function serveWrite(deps: GardenApiDeps, request: RequestInfo, req: Request, res: Response, user: string): void {
  const { kind, verb, namespace, name } = request;
  const body = readObject(req, kind);
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
  const { preconditions = {} } = readOptions(req) as { preconditions?: Preconditions };
  // Dry runs of deletions are not supported: refuse instead of deleting.
  if (query.has('dryRun')) throw badRequest('the local garden has no dry run of deletions');
  const object = deps.objects.get(kind, namespace, name);
  const waiting = deps.objects.remove(kind, namespace, name, { user, preconditions });
  if (waiting !== null) sendObject(deps, res, 200, kind, waiting);
  else sendJson(res, 200, deletedStatus(kind, object));
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

const writeOptions = ({ query }: RequestInfo, user: string): WriteOptions => ({
  user,
  fieldManager: query.get('fieldManager') ?? '',
  subresource: '',
  dryRun: query.has('dryRun'),
});

/** Without a field manager, the name of the client program is used. */
function named(options: WriteOptions, req: Request): WriteOptions {
  if (options.fieldManager !== '') return options;
  const program = (req.get('User-Agent') ?? '').split('/', 1)[0]?.trim() ?? '';
  return { ...options, fieldManager: program === '' ? 'unknown' : program };
}

/** @throws StatusError 403, 405 */
function authorize({ rights }: GardenApiDeps, request: RequestInfo, { name: user, account }: GardenUser): void {
  const { kind, verb, namespace, name, subresource } = request;
  if (kind.namespaced && namespace === '' && verb !== 'list' && verb !== 'watch') throw methodNotAllowed();
  const resource = subresource === '' ? kind.plural : `${kind.plural}/${subresource}`;
  if (rights.allows(account, verb, kind.group, resource)) return;
  throw refusedByRbac(kind, { user, verb, name, namespace, subresource });
}
