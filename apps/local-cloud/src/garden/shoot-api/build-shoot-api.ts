import { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Clock } from '../../clock.js';
import { type CallCounts, countCalls } from '../../faults/call-counts.js';
import { injectFaults } from '../../faults/fault-middleware.js';
import type { FaultRules } from '../../faults/fault-rules.js';
import { RouteTable } from '../../faults/route-table.js';
import type { Clusters } from '../cluster/clusters.js';
import { serverVersion } from '../http/discovery.js';
import { renderFault } from '../http/render-fault.js';
import { sendJson } from '../http/send-json.js';
import type { Shoot } from '../kinds/shoot/shoot.js';
import {
  badRequest,
  internalError,
  methodNotAllowed,
  pathNotFound,
  StatusError,
  unauthorized,
} from '../kube/status-error.js';
import { objectOf } from '../store/held.js';
import type { ObjectStore } from '../store/object-store.js';
import { shootDiscovery } from './discovery.js';
import { nodeRoutes } from './node-routes.js';
import { podRoutes } from './pod-routes.js';
import { shootRoutes } from './routes.js';
import { secretRoutes } from './secret-routes.js';
import { isServing, type ShootAuthorities, shootOfServerName } from './shoot-authorities.js';
import { type ShootUser, shootOf } from './shoot-request.js';

const BODY_BYTES_MAX = 3 * 1024 * 1024;

export interface ShootApiDeps {
  readonly store: ObjectStore;
  readonly authorities: ShootAuthorities;
  readonly clusters: Clusters;
  readonly clock: Clock;
  readonly faults: FaultRules;
  readonly calls: CallCounts;
}

/** The API servers of all Shoots on one address: as much of them as nodes, and whoever looks after nodes, need. */
export function buildShootApi(deps: ShootApiDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  const routes = new RouteTable(shootRoutes);
  app.use(countCalls(deps.calls, routes, 'shoot '));
  app.use(injectFaults(deps.faults, renderFault, 'shoot'));
  // The body first: from the look at the Shoot to the answer nothing must come between.
  app.use(express.raw({ type: () => true, limit: BODY_BYTES_MAX }));
  app.use(requireShoot(deps));
  app.get('/version', (_req, res) => {
    sendJson(res, 200, serverVersion(`v${objectOf<Shoot>(shootOf(res)).spec.kubernetes.version}`));
  });
  app.use(requireCertificate(deps));
  app.get(Object.keys(shootDiscovery), (req, res) => sendJson(res, 200, shootDiscovery[req.path.replace(/\/$/, '')]));
  app.use(refuseDryRuns);
  app.use('/api/v1', nodeRoutes(deps), secretRoutes(deps), podRoutes(deps));
  app.use((req) => {
    throw routes.find(req.path) === null ? pathNotFound() : methodNotAllowed();
  });
  app.use(sendStatusError);
  return app;
}

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
    res.locals.user = userOf(shown);
    next();
  };
}

function userOf({ subject }: X509Certificate): ShootUser {
  const name = /^CN=(.*)$/m.exec(subject)?.[1] ?? '';
  return { name, isViewer: /^O=gardener\.cloud:project:viewers$/m.test(subject) };
}

/** Better refused than performed. */
const refuseDryRuns: RequestHandler = (req, _res, next) => {
  if (req.query.dryRun === undefined) next();
  else throw badRequest('dryRun is not known to the API servers of local Shoots');
};

const sendStatusError: ErrorRequestHandler = (error, _req, res, _next) => {
  const refusal =
    error instanceof StatusError
      ? error
      : error.status === 400
        ? badRequest(String(error.message))
        : internalError(String(error.message));
  sendJson(res, refusal.code, refusal.toStatus());
};
