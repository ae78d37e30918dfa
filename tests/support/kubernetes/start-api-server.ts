import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { freePort, type Missing, startProcess, waitFor } from '@corral/testing';
import { issueClientCertificate, issueServerCertificate, makeAuthority } from '@corral/testing/certificates';
import { builtFile } from '../system/program.js';

/** An API server of Kubernetes, without controllers and nodes. */
export interface ApiServer {
  /** How a client with all rights reaches it. */
  readonly access: { readonly url: string; readonly token: string; readonly authority: string };
  /** Applies on the server's side. Every unknown field is an error. */
  apply(object: object): Promise<{ readonly metadata: { readonly resourceVersion: string } }>;
  remove(object: object): Promise<void>;
  stop(): Promise<void>;
}

const DAY_MS = 86_400_000;
const LOOPBACK = '127.0.0.1';

/** The program that `npm run conformance` has built. */
function findApiServer(): string | null {
  const cache = builtFile('node_modules/.cache/corral-conformance');
  const built = existsSync(cache) ? readdirSync(cache).find((name) => /^kube-apiserver-\w+$/.test(name)) : undefined;
  return built === undefined ? null : join(cache, built);
}

/** Null if there is one. */
export const missingApiServer = (): Missing | null =>
  findApiServer() === null
    ? { what: 'kube-apiserver', how: 'run `npm run conformance -- garden`, which builds it' }
    : null;

interface Kept {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** @param folder for its files @throws Error without the program, or without etcd */
export async function startApiServer(folder: string): Promise<ApiServer> {
  const program = findApiServer();
  if (program === null) throw new Error('There is no kube-apiserver.');
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content, { mode: 0o600 });
    return join(folder, name);
  };
  const [port, etcdPort, peerPort] = [await freePort(), await freePort(), await freePort()];
  const [etcdUrl, peerUrl] = [`http://${LOOPBACK}:${etcdPort}`, `http://${LOOPBACK}:${peerPort}`];
  const etcd = await startProcess({
    command: 'etcd',
    args: [
      ...['--data-dir', join(folder, 'etcd')],
      ...['--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl],
      ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl],
      ...['--initial-cluster', `default=${peerUrl}`],
    ],
    readyUrl: `${etcdUrl}/health`,
  });
  const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
  const authority = await makeAuthority('corral-tests', validity);
  const certified = await issueServerCertificate(authority, { dns: ['localhost'], ip: [LOOPBACK] }, validity);
  const frontProxy = await issueClientCertificate(authority, 'front-proxy', [], validity);
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const token = randomBytes(16).toString('hex');
  const args = [
    ...['--etcd-servers', etcdUrl, '--bind-address', LOOPBACK, '--secure-port', String(port)],
    ...['--tls-cert-file', file('server.crt', certified.certificate)],
    ...['--tls-private-key-file', file('server.key', certified.key)],
    ...['--service-account-issuer', 'https://kubernetes.default.svc'],
    ...['--service-account-signing-key-file', file('key', String(privateKey.export({ type: 'pkcs1', format: 'pem' })))],
    ...['--service-account-key-file', file('pub', String(publicKey.export({ type: 'spki', format: 'pem' })))],
    ...['--token-auth-file', file('tokens.csv', `${token},admin,admin,system:masters\n`)],
    ...['--authorization-mode', 'RBAC', '--service-cluster-ip-range', '10.0.0.0/24'],
    // API servers that extend this one need these.
    ...['--client-ca-file', file('ca.crt', authority.certificate)],
    ...['--requestheader-client-ca-file', join(folder, 'ca.crt')],
    ...['--requestheader-allowed-names', 'front-proxy', '--requestheader-extra-headers-prefix', 'X-Remote-Extra-'],
    ...['--requestheader-username-headers', 'X-Remote-User', '--requestheader-group-headers', 'X-Remote-Group'],
    ...['--proxy-client-cert-file', file('front-proxy.crt', frontProxy.certificate)],
    ...['--proxy-client-key-file', file('front-proxy.key', frontProxy.key)],
    // No controller runs here that would create the default accounts and the endpoints.
    ...['--disable-admission-plugins', 'ServiceAccount', '--endpoint-reconciler-type', 'none'],
  ];
  const server = await startProcess({ command: program, args });

  const call = (method: string, path: string, body?: object): Promise<{ status: number; json: unknown }> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/apply-patch+yaml' };
      const sent = request(
        { host: LOOPBACK, port, method, path, headers, ca: authority.certificate },
        async (answer) => {
          let text = '';
          for await (const piece of answer.setEncoding('utf8')) text += piece;
          resolve({ status: answer.statusCode ?? 0, json: text.startsWith('{') ? JSON.parse(text) : text });
        },
      );
      sent.on('error', reject);
      sent.end(body && JSON.stringify(body));
    });
  const must = async (method: string, path: string, body?: object): Promise<unknown> => {
    const { status, json } = await call(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`);
    return json;
  };
  await waitFor('the API server', async () => (await call('GET', '/readyz').catch(() => null))?.status === 200, {
    timeoutMs: 120_000,
  });
  return {
    access: { url: `https://${LOOPBACK}:${port}`, token, authority: authority.certificate },
    async apply(object) {
      const path = `${pathOf(object as Kept)}?fieldManager=corral&force=true&fieldValidation=Strict`;
      return (await must('PATCH', path, object)) as { metadata: { resourceVersion: string } };
    },
    async remove(object) {
      await must('DELETE', pathOf(object as Kept));
    },
    async stop() {
      await server.stop();
      await etcd.stop();
    },
  };
}

/** The plural of all kinds that the tests apply has an `s` only. */
function pathOf({ apiVersion, kind, metadata: { name, namespace } }: Kept): string {
  const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
  return `/${apiVersion.includes('/') ? 'apis' : 'api'}/${apiVersion}${scope}/${kind.toLowerCase()}s/${name}`;
}
