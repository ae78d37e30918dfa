import { X509Certificate } from 'node:crypto';
import { createServer, type ServerOptions } from 'node:https';
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { KeyPair } from '@corral/testing/certificates';
import express, { type Express, type RequestHandler } from 'express';
import { countCalls, type Route, RouteTable } from '../../faults/call-counts.js';
import { injectFaults } from '../../faults/fault-middleware.js';
import { type ListeningServer, LOOPBACK, listen } from '../../listen.js';
import type { World } from '../gardenlet/perform-step.js';
import { BODY_BYTES_MAX, renderFault, sendJson, sendStatusError } from '../http/answers.js';
import { serverVersion } from '../http/discovery.js';
import type { Shoot } from '../kinds/shoot/shoot.js';
import { equalJson } from '../kube/object.js';
import { methodNotAllowed, pathNotFound, unauthorized } from '../kube/status-error.js';
import { objectOf } from '../objects/held.js';
import type { ObjectStore } from '../objects/object-store.js';
import { nodeRoutes } from './node-routes.js';
import { podRoutes } from './pod-routes.js';
import { type ShootApiDeps, type ShootUser, shootOf } from './requests.js';
import { secretRoutes } from './secret-routes.js';
import { isServing, type ShootAuthorities, shootOfServerName } from './shoot-authorities.js';

export interface ShootApi extends Pick<ListeningServer, 'close'> {
  /** Addresses of every Shoot's API server. */
  readonly addresses: World['addresses'];
}

/**
 * Serves the API servers of all Shoots on one address. The TLS server name identifies the Shoot.
 *
 * @param fallback certificate for clients that name no Shoot; no client of a Shoot trusts it
 */
export async function startShootApi(deps: ShootApiDeps, port: number, fallback: KeyPair): Promise<ShootApi> {
  const { store, authorities } = deps;
  const tls: ServerOptions = {
    cert: fallback.certificate,
    key: fallback.key,
    requestCert: true,
    // Verified after the handshake, by the simulated clock.
    rejectUnauthorized: false,
    SNICallback: (serverName, callback) => {
      contextFor(store, authorities, serverName).then(
        (context) => callback(null, context),
        (error) => callback(error),
      );
    },
  };
  const server = await listen(createServer(tls, buildShootApi(deps)), port);
  const url = `https://${LOOPBACK}:${server.port}`;
  const addresses = [
    { name: 'external', url },
    { name: 'internal', url },
  ];
  readvertise(store, addresses);
  return { addresses, close: server.close };
}

async function contextFor(
  store: ObjectStore,
  authorities: ShootAuthorities,
  serverName: string,
): Promise<SecureContext | undefined> {
  const named = shootOfServerName(serverName);
  const held = named && store.get('shoots', named.namespace, named.name);
  if (held === null) return undefined;
  const { certificate, key } = await authorities.serverOf(held);
  return createSecureContext({ cert: certificate, key });
}

/** Updates the addresses of Shoots from an earlier run: the port may differ. */
function readvertise(store: ObjectStore, addresses: World['addresses']): void {
  for (const held of store.list('shoots')) {
    const shoot = objectOf<Shoot>(held);
    const { advertisedAddresses } = shoot.status;
    if (advertisedAddresses === undefined || equalJson(advertisedAddresses, addresses)) continue;
    shoot.status.advertisedAddresses = addresses.map((address) => ({ ...address }));
    store.put('shoots', shoot);
  }
}

/** The API servers of all Shoots on one address, limited to what nodes and node management need. */
function buildShootApi(deps: ShootApiDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  const routes = new RouteTable(shootRoutes);
  app.use(countCalls(deps.calls, routes, 'shoot '));
  app.use(injectFaults(deps.faults, renderFault, 'shoot'));
  // Read the body first: the Shoot must not change between the check and the response.
  app.use(express.raw({ type: () => true, limit: BODY_BYTES_MAX }));
  app.use(requireShoot(deps));
  app.get('/version', (_req, res) => {
    sendJson(res, 200, serverVersion(`v${objectOf<Shoot>(shootOf(res)).spec.kubernetes.version}`));
  });
  app.use(requireCertificate(deps));
  app.get(Object.keys(shootDiscovery), (req, res) => sendJson(res, 200, shootDiscovery[req.path.replace(/\/$/, '')]));
  app.use('/api/v1', nodeRoutes(deps), secretRoutes(deps), podRoutes(deps));
  app.use((req) => {
    throw routes.find(req.path) === null ? pathNotFound() : methodNotAllowed();
  });
  app.use(sendStatusError);
  return app;
}

/** Drops the connection if the Shoot's API server is down, as if nothing listened there. */
function requireShoot({ store }: ShootApiDeps): RequestHandler {
  return (req, res, next) => {
    const named = shootOfServerName(String((req.socket as TLSSocket).servername ?? ''));
    const held = named && store.get('shoots', named.namespace, named.name);
    if (held === null || !isServing(held)) return void req.socket.destroy();
    res.locals.shoot = held;
    next();
  };
}

/** Checked here because the TLS library would use the machine's clock. */
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

const get = (pattern: string): Route => ({ pattern, methods: ['GET'] });

/** Counted separately from the garden's routes, which have the same paths. */
const shootRoutes: readonly Route[] = [
  ...['/version', '/api', '/apis', '/api/v1'].map(get),
  get('/api/v1/nodes'),
  { pattern: '/api/v1/nodes/:name', methods: ['GET', 'PATCH', 'DELETE'] },
  get('/api/v1/secrets'),
  { pattern: '/api/v1/namespaces/:namespace/secrets', methods: ['GET', 'POST'] },
  { pattern: '/api/v1/namespaces/:namespace/secrets/:name', methods: ['GET', 'DELETE'] },
  get('/api/v1/pods'),
  get('/api/v1/namespaces/:namespace/pods'),
  get('/api/v1/namespaces/:namespace/pods/:name'),
  { pattern: '/api/v1/namespaces/:namespace/pods/:name/eviction', methods: ['POST'] },
];

const secret = { name: 'secrets', singularName: 'secret', namespaced: true, kind: 'Secret' };
const pod = { name: 'pods', singularName: 'pod', namespaced: true, kind: 'Pod' };
const node = { name: 'nodes', singularName: 'node', namespaced: false, kind: 'Node' };
const eviction = { name: 'pods/eviction', singularName: '', namespaced: true, kind: 'Eviction' };

/** Discovery documents by path. They list only the resources served here. */
const shootDiscovery: Readonly<Record<string, unknown>> = {
  '/api': { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] },
  '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: [] },
  '/api/v1': {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: 'v1',
    resources: [
      { ...node, verbs: ['delete', 'get', 'list', 'patch'] },
      { ...pod, verbs: ['get', 'list'] },
      { ...eviction, group: 'policy', version: 'v1', verbs: ['create'] },
      { ...secret, verbs: ['create', 'delete', 'get', 'list'] },
    ],
  },
};
