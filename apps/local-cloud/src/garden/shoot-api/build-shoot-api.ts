import { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from 'express';
import type { Clock } from '../../clock.js';
import { type CallCounts, countCalls } from '../../faults/call-counts.js';
import { injectFaults } from '../../faults/fault-middleware.js';
import type { FaultRules } from '../../faults/fault-rules.js';
import { RouteTable } from '../../faults/route-table.js';
import { simulationOf } from '../gardenlet/simulation.js';
import { serverVersion } from '../http/discovery.js';
import { renderFault } from '../http/render-fault.js';
import { sendJson } from '../http/send-json.js';
import { tableOf, wantsTable } from '../http/tables.js';
import { readVerbs } from '../kinds/kind.js';
import type { Shoot } from '../kinds/shoot/shoot.js';
import { parseLabelSelector } from '../kube/selectors.js';
import { badRequest, internalError, notFound, pathNotFound, StatusError, unauthorized } from '../kube/status-error.js';
import { type Held, objectOf } from '../store/held.js';
import type { ObjectStore } from '../store/object-store.js';
import { nodeColumns, nodesOf } from './nodes.js';
import { isServing, type ShootAuthorities, shootOfServerName } from './shoot-authorities.js';

export interface ShootApiDeps {
  readonly store: ObjectStore;
  readonly authorities: ShootAuthorities;
  readonly clock: Clock;
  readonly faults: FaultRules;
  readonly calls: CallCounts;
}

const nodeResource = { group: '', plural: 'nodes', kind: 'Node' };

/** Counted apart from the garden's own routes, which have the same paths. */
const shootRoutes = ['/api', '/apis', '/version', '/api/v1', '/api/v1/nodes', '/api/v1/nodes/:name'].map((pattern) => ({
  pattern,
  methods: ['GET'],
}));

/** The API servers of all Shoots on one address: as much of them as lists nodes. */
export function buildShootApi(deps: ShootApiDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(countCalls(deps.calls, new RouteTable(shootRoutes), 'shoot '));
  app.use(injectFaults(deps.faults, renderFault, 'shoot'));
  app.use(requireShoot(deps));
  app.get('/version', (_req, res) => {
    sendJson(res, 200, serverVersion(`v${objectOf<Shoot>(shootOf(res)).spec.kubernetes.version}`));
  });
  app.use(requireCertificate(deps));
  app.get('/api', (_req, res) =>
    sendJson(res, 200, { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] }),
  );
  app.get('/apis', (_req, res) => sendJson(res, 200, { kind: 'APIGroupList', apiVersion: 'v1', groups: [] }));
  app.get('/api/v1', (_req, res) => {
    const node = { name: 'nodes', singularName: 'node', namespaced: false, kind: 'Node', shortNames: ['no'] };
    sendJson(res, 200, {
      kind: 'APIResourceList',
      groupVersion: 'v1',
      resources: [{ ...node, verbs: readVerbs.filter((verb) => verb !== 'watch') }],
    });
  });
  app.get('/api/v1/nodes', (req, res) => {
    const held = shootOf(res);
    const version = String(held.resourceVersion);
    const selects = parseLabelSelector(String(req.query.labelSelector ?? ''));
    const nodes = nodesOf(simulationOf(held), version).filter(({ metadata }) => selects(metadata.labels ?? {}));
    sendNodes(deps, res, nodes, { resourceVersion: version });
  });
  app.get('/api/v1/nodes/:name', (req, res) => {
    const held = shootOf(res);
    const nodes = nodesOf(simulationOf(held), String(held.resourceVersion));
    const node = nodes.find(({ metadata }) => metadata.name === req.params.name);
    if (node === undefined) throw notFound(nodeResource, req.params.name);
    if (wantsTable(req.get('Accept') ?? '')) sendNodes(deps, res, [node], {});
    else sendJson(res, 200, node);
  });
  app.use(() => {
    throw pathNotFound();
  });
  app.use(sendStatusError);
  return app;
}

const shootOf = (res: Response): Held => res.locals.shoot as Held;

/** A Shoot whose API server is not up drops the connection: nothing listens there. */
function requireShoot({ store }: ShootApiDeps): RequestHandler {
  return (req, res, next) => {
    const named = shootOfServerName(String((req.socket as TLSSocket).servername ?? ''));
    const held = named && store.get('shoots', named.namespace, named.name);
    if (held === null || !isServing(held)) return void req.socket.destroy();
    res.locals.shoot = held;
    next();
  };
}

/** Checked here and not by the TLS library, whose clock is the machine's. */
function requireCertificate({ authorities, clock }: ShootApiDeps): RequestHandler {
  return (req, res, next) => {
    const authority = authorities.find(shootOf(res));
    const shown = (req.socket as TLSSocket).getPeerX509Certificate();
    if (authority === null || shown === undefined) throw unauthorized();
    const issuer = new X509Certificate(authority.certificate);
    const now = clock.now();
    const isCurrent = Date.parse(shown.validFrom) <= now && now <= Date.parse(shown.validTo);
    if (!isCurrent || !shown.checkIssued(issuer) || !shown.verify(issuer.publicKey)) throw unauthorized();
    next();
  };
}

function sendNodes(
  { clock }: ShootApiDeps,
  res: Response,
  nodes: ReturnType<typeof nodesOf>,
  metadata: Record<string, string>,
): void {
  if (wantsTable(res.req.get('Accept') ?? '')) {
    const includeObject = typeof res.req.query.includeObject === 'string' ? res.req.query.includeObject : null;
    sendJson(res, 200, tableOf(nodeColumns, nodes, { metadata, includeObject, nowMs: clock.now() }));
  } else sendJson(res, 200, { kind: 'NodeList', apiVersion: 'v1', metadata, items: nodes });
}

const sendStatusError: ErrorRequestHandler = (error, _req, res, _next) => {
  const refusal =
    error instanceof StatusError
      ? error
      : error.status === 400
        ? badRequest(String(error.message))
        : internalError(String(error.message));
  sendJson(res, refusal.code, refusal.toStatus());
};
