import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { injectFaults } from '../../faults/calls.js';
import type { AccountName } from '../../garden-accounts.js';
import { sendJson, sendText } from '../../http/route-table.js';
import { apiVersionOf, type Kind } from '../kinds/kind.js';
import {
  methodNotAllowed,
  refusedByRbac,
  refusedPath,
  renderFault,
  type StatusError,
  unauthorized,
} from '../kube/errors.js';
import { fieldAt } from '../kube/object.js';
import type { GardenParts } from '../parts.js';
import { serveKubeconfigRequest } from '../shoot-api/kubeconfigs.js';
import { listPages, type Watches } from './reads.js';
import {
  type Asked,
  allKinds,
  BODY_BYTES_MAX,
  deletedStatus,
  kubePattern,
  readAsked,
  readBody,
  readObject,
  readPatch,
  sendStatusError,
} from './requests.js';

export interface GardenApiDeps extends GardenParts {
  readonly watches: Watches;
  /** Accounts by bearer token. */
  readonly accounts: ReadonlyMap<string, AccountName>;
}

const ANONYMOUS = 'system:anonymous';

/** The Kubernetes API of the garden cluster. */
export function buildGardenApi(deps: GardenApiDeps): Express {
  const { calls } = deps;
  const app = express();
  app.disable('x-powered-by');
  app.use((req, _res, next) => {
    calls.count(req, kubePattern(req.path));
    next();
  });
  app.use(injectFaults(calls, renderFault, 'garden'));
  app.get('/version', (_req, res) => sendJson(res, 200, { major: '1', minor: '34', gitVersion: 'v1.34.1' }));
  app.get('/readyz', serveReadiness(deps));
  app.use(requireUser(deps));
  app.use((req, res, next) => {
    const document = req.method === 'GET' ? discoveryDocuments.get(req.path.replace(/\/$/, '')) : undefined;
    if (document === undefined) next();
    else sendJson(res, 200, document);
  });
  app.use(express.raw({ type: () => true, limit: BODY_BYTES_MAX }));
  app.post('/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', serveRules(deps));
  app.use(serveResources(deps));
  app.use(sendStatusError);
  return app;
}

/** A starting server is not ready. Without loaded tokens it also refuses this request. */
function serveReadiness({ settings }: GardenApiDeps): RequestHandler {
  return ({ path }, res) => {
    const { startUp } = settings();
    if (startUp === 'anonymous') throw refusedPath(ANONYMOUS, 'get', path);
    res.type('text/plain');
    if (startUp === 'over') res.send('ok');
    else res.status(500).send('[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\nreadyz check failed\n');
  };
}

function requireUser({ accounts, rights, settings }: GardenApiDeps): RequestHandler {
  return (req, res, next) => {
    const { startUp } = settings();
    const credentials = req.get('Authorization');
    // A request without credentials is anonymous; one with invalid credentials is unauthenticated.
    if (startUp === 'anonymous' || credentials === undefined) throw refusedAltogether(ANONYMOUS, req);
    const account = accounts.get(/^Bearer +(\S+)$/i.exec(credentials)?.[1] ?? '');
    if (account === undefined) throw unauthorized();
    const user = { account, name: rights.userName(account) };
    if (startUp === 'rights') throw refusedAltogether(user.name, req);
    res.locals.user = user;
    next();
  };
}

/** The 403 of a server that grants no rights: to the anonymous, or while its rights are not loaded. */
function refusedAltogether(user: string, { method, originalUrl, path }: Request): StatusError {
  try {
    const asked = readAsked(method, originalUrl);
    return refusedByRbac(asked.kind, { ...asked, user });
  } catch {
    return refusedPath(user, method.toLowerCase(), path);
  }
}

/** What a user may do, for the user. */
const serveRules =
  ({ rights }: GardenApiDeps): RequestHandler =>
  (_req, res) => {
    const { account } = res.locals.user as { account: AccountName };
    sendJson(res, 201, {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectRulesReview',
      status: { resourceRules: rights.of(account), nonResourceRules: [], incomplete: false },
    });
  };

function serveResources(deps: GardenApiDeps): RequestHandler {
  const { writes, watches } = deps;
  const page = listPages(deps.store);
  return async (req, res) => {
    const asked = readAsked(req.method, req.originalUrl);
    const { kind, verb, namespace, name } = asked;
    authorize(deps, asked, res);
    if (asked.subresource !== '') return serveKubeconfigRequest(deps, asked, req, res);
    if (verb === 'get') sendJson(res, 200, writes.get(kind, namespace, name));
    else if (verb === 'list') sendText(res, 200, page(asked));
    else if (verb === 'watch') watches.serve(asked, res);
    else if (verb === 'patch') servePatch(deps, asked, req, res);
    else if (verb === 'delete') {
      const object = writes.get(kind, namespace, name);
      const uid = fieldAt(readBody(req), 'preconditions', 'uid') as string | undefined;
      sendJson(res, 200, writes.remove(kind, namespace, name, uid) ?? deletedStatus(kind, object));
    } else if (verb === 'create') {
      sendJson(res, 201, writes.create(kind, namespace, readObject(req, kind), fieldManagerOf(asked, req)).object);
    } else throw methodNotAllowed();
  };
}

function servePatch(deps: GardenApiDeps, asked: Asked, req: Request, res: Response): void {
  const { kind, namespace, name, query } = asked;
  const patch = readPatch(req, query);
  // An apply that creates an object needs the right to create (kube-apiserver: endpoints/handlers/patch.go).
  const creates = patch.type === 'apply' && deps.store.get(kind.plural, namespace, name) === null;
  if (creates) authorize(deps, { ...asked, verb: 'create' }, res);
  const { object, created } = deps.writes.patch(kind, namespace, name, patch, fieldManagerOf(asked, req));
  sendJson(res, created ? 201 : 200, object);
}

/** Without a field manager, the name of the client program is used. */
const fieldManagerOf = ({ query }: Asked, req: Request): string =>
  query.get('fieldManager') ?? (req.get('User-Agent') || 'unknown').split('/', 1)[0] ?? '';

/** @throws StatusError 403 */
function authorize({ rights }: GardenApiDeps, asked: Asked, res: Response): void {
  const { kind, verb, subresource } = asked;
  const { name: user, account } = res.locals.user as { name: string; account: AccountName };
  const resource = subresource === '' ? kind.plural : `${kind.plural}/${subresource}`;
  if (!rights.allows(account, verb, kind.group, resource)) throw refusedByRbac(kind, { ...asked, user });
}

const pathOf = ({ group, version }: Kind): string => (group === '' ? `/api/${version}` : `/apis/${group}/${version}`);

const groups = [
  ...new Map(allKinds.filter(({ group }) => group !== '').map((kind) => [kind.group, kind])).values(),
].map((kind) => {
  const version = { groupVersion: apiVersionOf(kind), version: kind.version };
  return { name: kind.group, versions: [version], preferredVersion: version };
});

const kubePaths = [...new Set(allKinds.map(pathOf))];

/** All that kubectl must read before it edits: that the server itself finds unknown fields in a patch. */
const validatedPatches = (path: string) => ({
  openapi: '3.0.0',
  info: { title: 'garden', version: 'v1' },
  paths: Object.fromEntries(
    allKinds
      .filter((kind) => pathOf(kind) === path)
      .map(({ group, version, kind, plural }) => [
        `${path}/${plural}/{name}`,
        {
          patch: {
            parameters: [{ name: 'fieldValidation', in: 'query', schema: { type: 'string' } }],
            responses: {},
            'x-kubernetes-group-version-kind': { group, version, kind },
          },
        },
      ]),
  ),
});

/** Discovery by path, in the unaggregated form and without subresources, as far as kubectl needs it. */
const discoveryDocuments: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['/api', { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] }],
  ['/apis', { kind: 'APIGroupList', apiVersion: 'v1', groups }],
  [
    '/openapi/v3',
    {
      paths: Object.fromEntries(kubePaths.map((path) => [path.slice(1), { serverRelativeURL: `/openapi/v3${path}` }])),
    },
  ],
  ...kubePaths.map((path): [string, unknown] => [`/openapi/v3${path}`, validatedPatches(path)]),
  ...allKinds.map((kind): [string, unknown] => [
    pathOf(kind),
    {
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: apiVersionOf(kind),
      resources: allKinds
        .filter((other) => apiVersionOf(other) === apiVersionOf(kind))
        .map((other) => ({
          name: other.plural,
          singularName: other.kind.toLowerCase(),
          namespaced: other.namespaced,
          kind: other.kind,
          verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
        })),
    },
  ]),
]);
