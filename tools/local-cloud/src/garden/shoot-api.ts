import { X509Certificate } from 'node:crypto';
import { createServer, request } from 'node:https';
import type { SecureContext, TLSSocket } from 'node:tls';
import type { KeyPair } from '@corral/testing/certificates';
import type { Request, RequestHandler } from 'express';
import { publicAddresses } from '../compute/addresses.js';
import { discoveryOf } from '../kube/discovery.js';
import { unauthorized } from '../kube/errors.js';
import { clusterKinds, definitions, type Kind, nodes, pods, secrets, shoots } from '../kube/kinds.js';
import { equalJson, fieldAt } from '../kube/object.js';
import { listed } from '../kube/reads.js';
import {
  buildKubeApi,
  type KubePath,
  type OwnRequest,
  readPath,
  success,
  type Visitor,
  visitorOf,
} from '../kube/serve-kube.js';
import { clusterOf, type ObjectStore, shootOf } from '../kube/store.js';
import type { Rule } from '../kube/writes.js';
import { LOOPBACK, listen } from '../listen.js';
import { shootNamed } from './credentials.js';
import { nodeRule, nodeTable } from './nodes.js';
import type { GardenParts } from './parts.js';
import { isServing, type ShootStatus } from './shoots/shoot.js';

/** What controllers of a cluster would say about an object: addresses of a load balancer, the Pods of a Deployment. */
export const clusterRules: Readonly<Record<string, Rule>> = {
  [nodes.plural]: nodeRule,
  services: {
    admit(object) {
      if (fieldAt(object, 'spec', 'type') !== 'LoadBalancer') return;
      const ingress = publicAddresses(object.metadata.uid ?? '').map((ip) => ({ ip }));
      object.status ??= { loadBalancer: { ingress } };
    },
  },
  deployments: {
    admit(object) {
      object.status ??= { updatedReplicas: 1, availableReplicas: 1 };
    },
  },
};

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
  const addresses = [{ name: 'external', url }];
  readvertise(store, addresses);
  return { addresses, close: server.close };
}

/** Updates the addresses of Shoots from an earlier run: the port may differ. */
function readvertise(store: ObjectStore, addresses: NonNullable<ShootStatus['advertisedAddresses']>): void {
  for (const held of store.list(shoots)) {
    const { advertisedAddresses, ...status } = held.object.status;
    if (advertisedAddresses === undefined || equalJson(advertisedAddresses, addresses)) continue;
    store.put(held, { ...held.object, status: { ...status, advertisedAddresses: addresses } });
  }
}

const documents = discoveryOf(clusterKinds);

function buildShootApi(parts: GardenParts) {
  const { store, writes, clock } = parts;
  return buildKubeApi({
    ...parts,
    name: 'shoot',
    enter: (req) => enter(parts, req),
    beside: passToRealServer(parts),
    kindOf: (cluster, path) => kindIn(store, cluster, path),
    documentAt: (path, cluster) => (path === '/version' ? versionOf(store, cluster) : documents[path]),
    creations: {
      'pods/eviction': ({ visitor, namespace, name, body }: OwnRequest) => {
        const pod = { cluster: visitor.cluster, kind: pods, namespace, name };
        writes.remove(pod, fieldAt(body, 'deleteOptions', 'preconditions', 'uid'));
        return success;
      },
    },
    tableOf: (ref, req) =>
      ref.kind === nodes ? nodeTable(listed(store, { ...ref, kind: nodes }, req), clock.now()) : undefined,
  });
}

function versionOf(store: ObjectStore, cluster: string) {
  const version = shootOf(store, cluster)?.object.spec.kubernetes.version ?? '';
  const [major, minor] = version.split('.');
  return { major, minor, gitVersion: `v${version}` };
}

/** A kind that every cluster has, or one whose definition is there. */
function kindIn(store: ObjectStore, cluster: string, { group, version, plural }: KubePath): Kind | undefined {
  const known = clusterKinds.find((kind) => kind.group === group && kind.plural === plural);
  if (known !== undefined) return known;
  const definition = store.find({ cluster, kind: definitions, namespace: '', name: `${plural}.${group}` });
  if (definition === null) return undefined;
  const { kind = plural } = (fieldAt(definition.object, 'spec', 'names') ?? {}) as { kind?: string };
  const namespaced = fieldAt(definition.object, 'spec', 'scope') === 'Namespaced';
  return { group, version, plural, kind, namespaced };
}

const ofAdmins = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];
const readable = clusterKinds.filter((kind) => kind !== secrets).map(({ plural }) => plural);
const ofViewers = [{ apiGroups: ['*'], resources: readable, verbs: ['get', 'list', 'watch'] }];

/**
 * Lets in who shows a certificate of the Shoot, which is checked here because the TLS library would use the machine's clock. A
 * kubeconfig for viewers opens neither Secrets nor writes. If the API server is down, the connection drops as if nothing listened.
 */
function enter({ store, clock, authorities }: GardenParts, { socket }: Request): Visitor | null {
  const tls = socket as TLSSocket;
  const held = shootNamed(store, String(tls.servername ?? ''));
  if (held === null || !isServing(held.object)) {
    socket.destroy();
    return null;
  }
  const shown = tls.getPeerX509Certificate();
  if (shown === undefined || !isIssuedBy(authorities.get(held), shown, clock.now())) throw unauthorized();
  const isViewer = /^O=gardener\.cloud:project:viewers$/m.test(shown.subject);
  return {
    cluster: clusterOf(held),
    user: /^CN=(.*)$/m.exec(shown.subject)?.[1] ?? '',
    rules: isViewer ? ofViewers : ofAdmins,
  };
}

function isIssuedBy({ certificate }: KeyPair, shown: X509Certificate, nowMs: number): boolean {
  const issuer = new X509Certificate(certificate);
  const isCurrent = Date.parse(shown.validFrom) <= nowMs && nowMs <= Date.parse(shown.validTo);
  return isCurrent && shown.checkIssued(issuer) && shown.verify(issuer.publicKey);
}

/** Has a real API server answer for all but nodes, if there is one, to somebody whom the Shoot's own has let in. */
function passToRealServer({ realApiServers }: GardenParts): RequestHandler {
  return (req, res, next) => {
    const server = realApiServers.get(visitorOf(res).cluster);
    if (server === undefined || readPath(req.path)?.plural === nodes.plural || req.path === '/version') return next();
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
