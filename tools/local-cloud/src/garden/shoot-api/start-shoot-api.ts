import { X509Certificate } from 'node:crypto';
import { createServer, type ServerOptions } from 'node:https';
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { KeyPair } from '@corral/testing/certificates';
import express, { type Express, type RequestHandler } from 'express';
import type { Clock } from '../../clock.js';
import { type CallCounts, countCalls } from '../../faults/call-counts.js';
import { injectFaults } from '../../faults/fault-middleware.js';
import type { FaultRules } from '../../faults/fault-rules.js';
import { type ListeningServer, LOOPBACK, listen } from '../../listen.js';
import type { Clusters } from '../cluster/clusters.js';
import { BODY_BYTES_MAX, renderFault, sendJson, sendStatusError } from '../http/answers.js';
import { kubePattern } from '../http/requests.js';
import { equalJson } from '../kube/object.js';
import { pathNotFound, unauthorized } from '../kube/status-error.js';
import type { World } from '../shoots/flows.js';
import { isServing, type Shoot } from '../shoots/shoot.js';
import { type Held, type ObjectStore, objectOf } from '../store.js';
import { type ShootUser, shootOf, shootRoutes } from './routes.js';
import { type ShootAuthorities, shootOfServerName } from './shoot-authorities.js';

export interface ShootApiDeps {
  readonly store: ObjectStore;
  readonly authorities: ShootAuthorities;
  readonly clusters: Clusters;
  readonly clock: Clock;
  readonly faults: FaultRules;
  readonly calls: CallCounts;
}

export interface ShootApi extends Pick<ListeningServer, 'close'> {
  /** Addresses of every Shoot's API server. */
  readonly addresses: World['addresses'];
}

/**
 * Serves the API servers of all Shoots on one address. The TLS server name tells them apart.
 *
 * @param fallback certificate for clients that name no Shoot; no client of a Shoot trusts it
 */
export async function startShootApi(deps: ShootApiDeps, port: number, fallback: KeyPair): Promise<ShootApi> {
  const { store, authorities } = deps;
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
  const server = await listen(createServer(tls, buildShootApi(deps)), port);
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

function buildShootApi(deps: ShootApiDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(countCalls(deps.calls, ({ path }) => kubePattern(path), 'shoot '));
  app.use(injectFaults(deps.faults, renderFault, 'shoot'));
  // Read the body first: the Shoot must not change between the check and the response.
  app.use(express.raw({ type: () => true, limit: BODY_BYTES_MAX }));
  app.use(requireShoot(deps));
  app.get('/version', (_req, res) => {
    const { version } = objectOf<Shoot>(shootOf(res)).spec.kubernetes;
    const [major, minor] = version.split('.');
    sendJson(res, 200, { major, minor, gitVersion: `v${version}` });
  });
  app.use(requireCertificate(deps));
  app.get(Object.keys(discovery), (req, res) => sendJson(res, 200, discovery[req.path.replace(/\/$/, '')]));
  app.use('/api/v1', shootRoutes(deps.clusters, deps.clock));
  app.use(() => {
    throw pathNotFound();
  });
  app.use(sendStatusError);
  return app;
}

/** Drops the connection if the Shoot's API server is down, as if nothing listened there. */
function requireShoot({ store }: ShootApiDeps): RequestHandler {
  return (req, res, next) => {
    const held = shootNamed(store, String((req.socket as TLSSocket).servername ?? ''));
    if (held === null || !isServing(objectOf(held))) return void req.socket.destroy();
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
    const name = /^CN=(.*)$/m.exec(shown.subject)?.[1] ?? '';
    const isViewer = /^O=gardener\.cloud:project:viewers$/m.test(shown.subject);
    res.locals.user = { name, isViewer } satisfies ShootUser;
    next();
  };
}

/** Discovery documents by path, of what `kubectl get nodes` needs. */
const discovery: Readonly<Record<string, unknown>> = {
  '/api': { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] },
  '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: [] },
  '/api/v1': {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: 'v1',
    resources: [
      {
        name: 'nodes',
        singularName: 'node',
        namespaced: false,
        kind: 'Node',
        verbs: ['delete', 'get', 'list', 'patch'],
      },
    ],
  },
};
