import { X509Certificate } from 'node:crypto';
import { createServer, request } from 'node:https';
import type { SecureContext, TLSSocket } from 'node:tls';
import type { KeyPair } from '@corral/testing/certificates';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { countCall, injectFaults } from '../../faults/calls.js';
import { sendJson, serveRoutes } from '../../http/serve-routes.js';
import { LOOPBACK, listen } from '../../listen.js';
import { shootNamed } from '../authorities.js';
import { pathNotFound, refusedByRbac, renderFault, unauthorized } from '../errors.js';
import { secrets } from '../kinds.js';
import { equalJson } from '../object.js';
import type { GardenParts } from '../parts.js';
import { BODY_BYTES_MAX, sendStatusError } from '../requests.js';
import { isServing, type Shoot, type ShootStatus } from '../shoots/shoot.js';
import { type Held, type ObjectStore, objectOf } from '../store.js';
import { nodeRoutes, objectRoutes } from './cluster-routes.js';

/**
 * Serves the API servers of all Shoots on one address. The TLS server name tells them apart.
 *
 * @param fallback certificate for clients that name no Shoot; no client of a Shoot trusts it
 */
export async function startShootApi(parts: GardenParts, port: number, fallback: KeyPair) {
  const { store, authorities } = parts;
  const tls = {
    cert: fallback.certificate,
    key: fallback.key,
    requestCert: true,
    // Verified after the handshake, by the simulated clock.
    rejectUnauthorized: false,
    SNICallback: (serverName: string, callback: (error: Error | null, context?: SecureContext) => void) => {
      const held = shootNamed(store, serverName);
      callback(null, held === null ? undefined : authorities.serverOf(held));
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

/** Updates the addresses of Shoots from an earlier run: the port may differ. */
function readvertise(store: ObjectStore, addresses: NonNullable<ShootStatus['advertisedAddresses']>): void {
  for (const held of store.list('shoots')) {
    const shoot = objectOf<Shoot>(held);
    const { advertisedAddresses } = shoot.status;
    if (advertisedAddresses === undefined || equalJson(advertisedAddresses, addresses)) continue;
    store.put('shoots', { ...shoot, status: { ...shoot.status, advertisedAddresses: addresses } });
  }
}

function buildShootApi(parts: GardenParts): Express {
  const { calls, clusters, clock } = parts;
  const guards = [
    injectFaults(calls, renderFault, 'shoot'),
    // Read the body first: the Shoot must not change between the check and the response.
    express.raw({ type: () => true, limit: BODY_BYTES_MAX }),
    requireShoot(parts),
    requireCertificate(parts),
  ];
  const app = express();
  app.disable('x-powered-by');
  app.get('/version', countCall(calls, '/version', 'shoot '), ...guards, (_req, res) => {
    const { version } = objectOf<Shoot>(shootOf(res)).spec.kubernetes;
    const [major, minor] = version.split('.');
    sendJson(res, 200, { major, minor, gitVersion: `v${version}` });
  });
  serveRoutes(app, nodeRoutes(clusters, clock), (pattern) => [countCall(calls, pattern, 'shoot '), ...guards]);
  serveRoutes(app, objectRoutes(clusters), (pattern) => [
    countCall(calls, (req) => patternOf(pattern, req.params), 'shoot '),
    ...guards,
    passToRealServer(parts),
  ]);
  app.use(countCall(calls, 'unknown', 'shoot '), ...guards, passToRealServer(parts), () => {
    throw pathNotFound();
  });
  app.use(sendStatusError);
  return app;
}

const shootOf = (res: Response): Held => res.locals.shoot as Held;

/** The pattern of a path, whose only parameter is the name of the object. */
const patternOf = (pattern: string, params: Request['params']): string =>
  pattern.replace(/:(\w+)/g, (parameter, name) => (name === 'name' ? parameter : String(params[name])));

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
      throw refusedByRbac(secrets, { user, verb, resource: 'secrets', name: '', namespace: '' });
    }
    next();
  };
}

/** Has a real API server answer, if there is one, to somebody whom the Shoot's own has let in. */
function passToRealServer({ clusters }: GardenParts): RequestHandler {
  return (req, res, next) => {
    const server = clusters.realApiServer(shootOf(res));
    if (server === null) return next();
    const { host: _, ...headers } = req.headers;
    const sent = request(new URL(req.originalUrl, server.url), {
      method: req.method,
      headers: { ...headers, authorization: `Bearer ${server.token}` },
      ca: server.authority,
    });
    sent.on('response', (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    sent.on('error', () => res.destroy());
    sent.end(Buffer.isBuffer(req.body) ? req.body : undefined);
  };
}
