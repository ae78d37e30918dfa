import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { countCall, injectFaults } from '../faults/calls.js';
import type { AccountName } from '../garden-accounts.js';
import { param, sendJson, sendText } from '../http/serve-routes.js';
import { discoveryDocuments } from './discovery.js';
import { pathNotFound, refusedByRbac, renderFault, unauthorized } from './errors.js';
import { allKinds, type Kind, shoots, versionPathOf } from './kinds.js';
import { issueKubeconfig } from './kubeconfigs.js';
import { fieldAt } from './object.js';
import type { GardenParts } from './parts.js';
import { listPage, type Watches } from './reads.js';
import { asked, BODY_BYTES_MAX, deletedStatus, readBody, readPatch, sendStatusError } from './requests.js';

interface GardenApiDeps extends GardenParts {
  readonly watches: Watches;
  /** Accounts by bearer token. */
  readonly accounts: ReadonlyMap<string, AccountName>;
}

/** The Kubernetes API of the garden cluster. */
export function buildGardenApi(deps: GardenApiDeps): Express {
  const { calls, rights } = deps;
  const app = express();
  app.disable('x-powered-by');
  const guards = [
    injectFaults(calls, renderFault, 'garden'),
    requireUser(deps),
    express.raw({ type: () => true, limit: BODY_BYTES_MAX }),
  ];
  const route = (method: 'get' | 'patch' | 'delete' | 'post', path: string, handle: RequestHandler) =>
    app[method](path, countCall(calls, path), ...guards, handle);
  route('get', '/readyz', (_req, res) => void res.type('text/plain').send('ok'));
  for (const [path, document] of Object.entries(discoveryDocuments)) {
    route('get', path, (_req, res) => sendJson(res, 200, document));
  }
  route('post', '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', (_req, res) => {
    const { account } = userOf(res);
    const resourceRules = account === null ? [] : rights.of(account);
    const status = { resourceRules, nonResourceRules: [], incomplete: false };
    sendJson(res, 201, { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', status });
  });
  for (const kind of allKinds) {
    const all = `${versionPathOf(kind)}/${kind.plural}`;
    const some = kind.namespaced ? `${versionPathOf(kind)}/namespaces/:namespace/${kind.plural}` : all;
    for (const path of new Set([all, some])) route('get', path, serveList(deps, kind));
    route('get', `${some}/:name`, serveObject(deps, kind));
    route('patch', `${some}/:name`, servePatch(deps, kind));
    route('delete', `${some}/:name`, serveDeletion(deps, kind));
    for (const subresource of kind === shoots ? (['adminkubeconfig', 'viewerkubeconfig'] as const) : []) {
      route('post', `${some}/:name/${subresource}`, (req, res) => {
        authorize(deps, kind, 'create', req, res, subresource);
        sendJson(res, 201, issueKubeconfig(deps, subresource, req, userOf(res).name));
      });
    }
  }
  app.use(countCall(calls, 'unknown'), ...guards, () => {
    throw pathNotFound();
  });
  app.use(sendStatusError);
  return app;
}

interface User {
  readonly name: string;
  /** Null for a request without credentials, which may do nothing. */
  readonly account: AccountName | null;
}

const userOf = (res: Response): User => res.locals.user as User;

function requireUser({ accounts, rights }: GardenApiDeps): RequestHandler {
  return (req, res, next) => {
    const credentials = req.get('Authorization');
    const account = accounts.get(/^Bearer +(\S+)$/i.exec(credentials ?? '')?.[1] ?? '') ?? null;
    if (credentials !== undefined && account === null) throw unauthorized();
    const name = account === null ? 'system:anonymous' : rights.userName(account);
    res.locals.user = { name, account } satisfies User;
    next();
  };
}

/** @throws StatusError 403 */
function authorize({ rights }: GardenApiDeps, kind: Kind, verb: string, req: Request, res: Response, subresource = '') {
  const { name: user, account } = userOf(res);
  const resource = subresource === '' ? kind.plural : `${kind.plural}/${subresource}`;
  if (account !== null && rights.allows(account, verb, kind.group, resource)) return;
  throw refusedByRbac(kind, { user, verb, resource, namespace: param(req, 'namespace'), name: param(req, 'name') });
}

function serveList(deps: GardenApiDeps, kind: Kind): RequestHandler {
  return (req, res) => {
    const isWatch = /^(1|true)$/.test(asked(req, 'watch'));
    authorize(deps, kind, isWatch ? 'watch' : 'list', req, res);
    if (isWatch) deps.watches.serve(kind, req, res);
    else sendText(res, 200, listPage(deps.store, kind, req));
  };
}

function serveObject(deps: GardenApiDeps, kind: Kind): RequestHandler {
  return (req, res) => {
    authorize(deps, kind, 'get', req, res);
    sendJson(res, 200, deps.writes.get(kind, param(req, 'namespace'), param(req, 'name')));
  };
}

function servePatch(deps: GardenApiDeps, kind: Kind): RequestHandler {
  return (req, res) => {
    authorize(deps, kind, 'patch', req, res);
    const [namespace, name] = [param(req, 'namespace'), param(req, 'name')];
    const patch = readPatch(req);
    // An apply that creates an object needs the right to create (kube-apiserver: endpoints/handlers/patch.go).
    const creates = patch.type === 'apply' && deps.store.get(kind.plural, namespace, name) === null;
    if (creates) authorize(deps, kind, 'create', req, res);
    // Without a field manager, the name of the client program is used.
    const manager = asked(req, 'fieldManager') || (req.get('User-Agent') ?? 'unknown').split('/', 1)[0] || '';
    sendJson(res, creates ? 201 : 200, deps.writes.patch(kind, namespace, name, patch, manager));
  };
}

function serveDeletion(deps: GardenApiDeps, kind: Kind): RequestHandler {
  return (req, res) => {
    authorize(deps, kind, 'delete', req, res);
    const uid = fieldAt(readBody(req), 'preconditions', 'uid');
    const object = deps.writes.remove(kind, param(req, 'namespace'), param(req, 'name'), uid);
    const isGone = object.metadata.deletionTimestamp === undefined;
    sendJson(res, 200, isGone ? deletedStatus(kind, object) : object);
  };
}
