import { X509Certificate } from 'node:crypto';
import { createServer, type ServerOptions } from 'node:https';
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { KeyPair } from '@corral/testing/certificates';
import express, { type Express, type RequestHandler, type Response } from 'express';
import { injectFaults } from '../../faults/calls.js';
import { openRouteTable, type Route, sendJson } from '../../http/route-table.js';
import { LOOPBACK, listen } from '../../listen.js';
import { BODY_BYTES_MAX, sendStatusError } from '../http/requests.js';
import { secrets } from '../kinds/core-kinds.js';
import { pathNotFound, refusedByRbac, renderFault, unauthorized } from '../kube/errors.js';
import { equalJson } from '../kube/object.js';
import type { GardenParts } from '../parts.js';
import type { World } from '../shoots/flows.js';
import { isServing, type Shoot } from '../shoots/shoot.js';
import { type Held, type ObjectStore, objectOf } from '../store.js';
import { shootOfServerName } from './authorities.js';
import { clusterRoutes } from './cluster-routes.js';
import { passOn } from './real-api-server.js';

/**
 * Serves the API servers of all Shoots on one address. The TLS server name tells them apart.
 *
 * @param fallback certificate for clients that name no Shoot; no client of a Shoot trusts it
 */
export async function startShootApi(parts: GardenParts, port: number, fallback: KeyPair) {
  const { store, authorities } = parts;
  const contextFor = async (serverName: string): Promise<SecureContext | undefined> => {
    const held = shootNamed(store, serverName);
    if (held === null) return undefined;
    const { certificate, key } = await authorities.serverOf(held);
    return createSecureContext({ cert: certificate, key });
  };
  const tls: ServerOptions = {
    cert: fallback.certificate,
    key: fallback.key,
    requestCert: true,
    // Verified after the handshake, by the simulated clock.
    rejectUnauthorized: false,
    SNICallback: (serverName, callback) => {
      contextFor(serverName).then((context) => callback(null, context), callback);
    },
  };
  const server = await listen(createServer(tls, buildShootApi(parts)), port);
  const url = `https://${LOOPBACK}:${server.port}`;
  const addresses = [
    { name: 'external', url },
    { name: 'internal', url },
  ];
  readvertise(store, addresses);
  return { addresses, close: server.close };
}

function shootNamed(store: ObjectStore, serverName: string): Held | null {
  const named = shootOfServerName(serverName);
  return named && store.get('shoots', named.namespace, named.name);
}

/** Updates the addresses of Shoots from an earlier run: the port may differ. */
function readvertise(store: ObjectStore, addresses: World['addresses']): void {
  for (const held of store.list('shoots')) {
    const shoot = objectOf<Shoot>(held);
    const { advertisedAddresses } = shoot.status;
    if (advertisedAddresses === undefined || equalJson(advertisedAddresses, addresses)) continue;
    shoot.status.advertisedAddresses = [...addresses];
    store.put('shoots', shoot);
  }
}

function buildShootApi(parts: GardenParts): Express {
  const { calls, clusters, clock } = parts;
  const routeOf = openRouteTable(clusterRoutes(clusters, clock));
  const app = express();
  app.disable('x-powered-by');
  app.use((req, res, next) => {
    const route = routeOf(req.path.replace(/\/$/, ''));
    res.locals.route = route;
    calls.count(req, route?.pattern ?? 'unknown', 'shoot ');
    next();
  });
  app.use(injectFaults(calls, renderFault, 'shoot'));
  // Read the body first: the Shoot must not change between the check and the response.
  app.use(express.raw({ type: () => true, limit: BODY_BYTES_MAX }));
  app.use(requireShoot(parts));
  app.get('/version', (_req, res) => {
    const { version } = objectOf<Shoot>(res.locals.shoot).spec.kubernetes;
    const [major, minor] = version.split('.');
    sendJson(res, 200, { major, minor, gitVersion: `v${version}` });
  });
  app.use(requireCertificate(parts));
  app.use((req, res) => {
    const route = res.locals.route as Route | null;
    const real = clusters.realApiServer(shootOf(res));
    const hasObjects = route === null || route.pattern.includes('/:plural');
    if (real !== null && hasObjects) return passOn(real, req, res, Buffer.isBuffer(req.body) ? req.body : Buffer.of());
    if (route === null || !route.methods.includes(req.method)) throw pathNotFound();
    route.serve(req, res);
  });
  app.use(sendStatusError);
  return app;
}

/** Drops the connection if the Shoot's API server is down, as if nothing listened there. */
function requireShoot({ store }: GardenParts): RequestHandler {
  return (req, res, next) => {
    const held = shootNamed(store, String((req.socket as TLSSocket).servername ?? ''));
    if (held === null || !isServing(objectOf(held))) return void req.socket.destroy();
    res.locals.shoot = held;
    next();
  };
}

/** Checked here because the TLS library would use the machine's clock. A kubeconfig for viewers opens neither Secrets nor writes. */
function requireCertificate({ clock }: GardenParts): RequestHandler {
  return (req, res, next) => {
    const { authority } = shootOf(res).simulation;
    const shown = (req.socket as TLSSocket).getPeerX509Certificate();
    if (authority === undefined || shown === undefined) throw unauthorized();
    const issuer = new X509Certificate(authority.certificate);
    const now = clock.now();
    const isCurrent = Date.parse(shown.validFrom) <= now && now <= Date.parse(shown.validTo);
    if (!isCurrent || !shown.checkIssued(issuer) || !shown.verify(issuer.publicKey)) throw unauthorized();
    const user = /^CN=(.*)$/m.exec(shown.subject)?.[1] ?? '';
    const isViewer = /^O=gardener\.cloud:project:viewers$/m.test(shown.subject);
    if (isViewer && (req.method !== 'GET' || req.path.includes('/secrets'))) {
      const verb = req.method === 'GET' ? 'list' : 'update';
      throw refusedByRbac(secrets, { user, verb, name: '', namespace: '', subresource: '' });
    }
    next();
  };
}

const shootOf = (res: Response): Held => res.locals.shoot as Held;
