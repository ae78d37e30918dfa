import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { issueClientCertificate, issueServerCertificate, makeAuthority } from './certificates.js';
import { freePort } from './free-port.js';
import { type RunningProcess, startProcess } from './process/start-process.js';
import { waitFor } from './wait-for.js';

const DAY_MS = 86_400_000;
const LOOPBACK = '127.0.0.1';

/** An API server of Kubernetes with its etcd, without controllers and nodes. */
export interface KubeApiServer {
  readonly url: string;
  /** The certificate that clients must trust, in PEM format. */
  readonly authority: string;
  /** Restarts it without waiting until it is ready. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * @param folder for its files
 * @param etcd the program of that name
 * @param program kube-apiserver
 * @param callers who may call it: lines of `--token-auth-file`, the token first
 * @throws Error if either program cannot be started
 */
export async function startKubeApiServer({
  folder,
  etcd,
  program,
  callers,
}: {
  readonly folder: string;
  readonly etcd: string;
  readonly program: string;
  readonly callers: readonly string[];
}): Promise<KubeApiServer> {
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content, { mode: 0o600 });
    return join(folder, name);
  };
  const [port, etcdPort, peerPort] = [await freePort(), await freePort(), await freePort()];
  const [etcdUrl, peerUrl] = [`http://${LOOPBACK}:${etcdPort}`, `http://${LOOPBACK}:${peerPort}`];
  const store = await startProcess({
    command: etcd,
    args: [
      ...['--data-dir', join(folder, 'etcd')],
      ...['--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl],
      ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl],
      ...['--initial-cluster', `default=${peerUrl}`],
    ],
    env: { ETCD_UNSUPPORTED_ARCH: undefined },
    readyUrl: `${etcdUrl}/health`,
  });
  const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
  const authority = makeAuthority('kube-apiserver', validity);
  const server = issueServerCertificate(authority, { dns: ['localhost'], ip: [LOOPBACK] }, validity);
  const frontProxy = issueClientCertificate(authority, 'front-proxy', [], validity);
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const args = [
    ...['--etcd-servers', etcdUrl, '--bind-address', LOOPBACK, '--secure-port', String(port)],
    ...['--tls-cert-file', file('server.crt', server.certificate)],
    ...['--tls-private-key-file', file('server.key', server.key)],
    ...['--service-account-issuer', 'https://kubernetes.default.svc'],
    ...['--service-account-signing-key-file', file('key', String(privateKey.export({ type: 'pkcs1', format: 'pem' })))],
    ...['--service-account-key-file', file('pub', String(publicKey.export({ type: 'spki', format: 'pem' })))],
    ...['--token-auth-file', file('tokens.csv', `${callers.join('\n')}\n`)],
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
  let running: RunningProcess | undefined;
  const start = async (): Promise<void> => {
    running = await startProcess({ command: program, args });
  };
  const stop = async (): Promise<void> => {
    await running?.stop();
    await store.stop();
  };
  const url = `https://${LOOPBACK}:${port}`;
  const headers = { authorization: `Bearer ${callers[0]?.split(',')[0]}` };
  try {
    await start();
    await waitFor('the API server to be ready', () => isReady(`${url}/readyz`, authority.certificate, headers), {
      timeoutMs: 120_000,
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url,
    authority: authority.certificate,
    async restart() {
      await running?.stop();
      await start();
    },
    stop,
  };
}

const isReady = (url: string, ca: string, headers: Record<string, string>): Promise<boolean> =>
  new Promise((resolve, reject) => {
    request(url, { ca, headers, agent: false }, (answer) => resolve(answer.resume().statusCode === 200))
      .on('error', reject)
      .end();
  });
