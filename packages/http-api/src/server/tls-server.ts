import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { Log, Metrics } from '@corral/service';
import type { Express } from 'express';
import { type DrainableServer, type HttpServerOptions, serveApp, serverOptions } from './http-server.js';

/** PEM files, as written by cert-manager, ACME clients and Kubernetes Secrets. */
interface TlsFiles {
  /** The certificate, followed by its intermediates. */
  readonly certFile: string;
  /** Its private key, without a passphrase. */
  readonly keyFile: string;
}

/** A certificate and its private key. */
interface TlsCertificate {
  /** PEM. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
  /** Its subject alternative names, as text. */
  readonly names: string;
  readonly expiresAt: Date;
}

/**
 * Reads a certificate and its key.
 *
 * @throws Error that names the file when one is unreadable or the two do not match
 */
async function readTlsCertificate({ certFile, keyFile }: TlsFiles): Promise<TlsCertificate> {
  const [cert, key] = await Promise.all([readText(certFile), readText(keyFile)]);
  const certificate = or(`${certFile} does not contain a PEM certificate`, () => new X509Certificate(cert));
  const privateKey = or(`${keyFile} does not contain a PEM private key without a passphrase`, () =>
    createPrivateKey(key),
  );
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(`The key in ${keyFile} does not belong to the certificate in ${certFile}`);
  }
  or(`The certificate in ${certFile} cannot be served`, () => createSecureContext({ cert, key }));
  const { subjectAltName, subject, validTo } = certificate;
  return { cert, key, names: subjectAltName ?? subject, expiresAt: new Date(validTo) };
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new Error(`${file} cannot be read`, { cause });
  }
}

function or<T>(problem: string, attempt: () => T): T {
  try {
    return attempt();
  } catch (cause) {
    throw new Error(problem, { cause });
  }
}

interface RenewalOptions {
  readonly current: TlsCertificate;
  /** Interval of the checks in ms. Default: 10,000. */
  readonly everyMs?: number | undefined;
  readonly onRenewed: (certificate: TlsCertificate) => void;
  /** Called once per problem that persists at the next check. The current certificate stays in use. */
  readonly onProblem: (error: Error) => void;
}

/**
 * Polls the files and reports when they hold another certificate. Compares contents instead of watching the file system:
 * Kubernetes and ACME clients replace symbolic links, and copies may keep their times. A pair that does not match is being
 * written, unless that persists.
 *
 * @returns a function that stops it
 */
function watchTlsCertificate(files: TlsFiles, options: RenewalOptions): () => void {
  const { everyMs = 10_000, onRenewed, onProblem } = options;
  let { current } = options;
  let problem: string | undefined;
  let sightings = 0;
  const look = async (): Promise<void> => {
    if (ended) return;
    try {
      const read = await readTlsCertificate(files);
      problem = undefined;
      if (read.cert === current.cert && read.key === current.key) return;
      current = read;
      onRenewed(read);
    } catch (error) {
      const { message } = error as Error;
      sightings = message === problem ? sightings + 1 : 1;
      problem = message;
      if (sightings === 2) onProblem(error as Error);
    }
  };
  let ended = false;
  const lookLater = (): void => {
    if (!ended) setTimeout(() => look().then(lookLater), everyMs).unref();
  };
  lookLater();
  return () => {
    ended = true;
  };
}

export interface TlsOptions extends TlsFiles {
  /** Port for TLS beside plain HTTP; 0 for any free port. Default: the port of the app serves TLS, and plain HTTP is off. */
  readonly port?: number | undefined;
  /** Interval in ms at which the files are read for a renewed certificate. Default: 10,000. */
  readonly renewalCheckMs?: number;
}

interface Watched {
  readonly metrics: Metrics;
  readonly log: Log;
}

/** A handshake may take as long as the headers of a request. The limit of Node.js is 120 s. */
const HANDSHAKE_MS = 10_000;

/**
 * Builds a server as `buildHttpServer` does, over TLS 1.2 or newer. Uses a renewed certificate for all later connections.
 *
 * @throws Error that names the file when the certificate is unusable
 */
export async function buildTlsServer(
  app: Express,
  files: TlsOptions,
  options: HttpServerOptions & Watched,
): Promise<DrainableServer<Server>> {
  const certificate = await readTlsCertificate(files);
  const tls = createServer({
    ...serverOptions(options),
    ...contextOf(certificate),
    handshakeTimeout: options.timeouts?.headersMs ?? HANDSHAKE_MS,
  });
  // Node.js would report failed handshakes as malformed requests, but no client could read an HTTP answer.
  tls.removeAllListeners('tlsClientError');
  tls.on('tlsClientError', (_error, socket) => socket.destroy());
  const handshakes = trackHandshakes(tls);
  takeRenewals(tls, files, certificate, options);

  const { server, announceEnd, drain } = serveApp(tls, app, options);
  return {
    server,
    announceEnd,
    drain(graceMs) {
      const drained = drain(graceMs);
      for (const connection of handshakes.values()) connection.destroy();
      return drained;
    },
  };
}

const contextOf = ({ cert, key }: TlsCertificate) => ({ cert, key, minVersion: 'TLSv1.2' as const });

/**
 * Connections without a finished TLS handshake. The HTTP server does not know them, but a server that closes waits for them.
 * Node.js does not report which TLS socket belongs to which connection; the end of the client's side stands for both.
 */
function trackHandshakes(server: Server): ReadonlyMap<string, Socket> {
  const byClient = new Map<string, Socket>();
  const clientOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
  server.on('connection', (socket: Socket) => {
    const client = clientOf(socket);
    byClient.set(client, socket);
    socket.once('close', () => byClient.delete(client));
  });
  server.on('secureConnection', (socket) => byClient.delete(clientOf(socket)));
  return byClient;
}

function takeRenewals(server: Server, files: TlsOptions, current: TlsCertificate, { metrics, log }: Watched): void {
  const expiry = metrics.gauge({
    name: 'corral_tls_certificate_expiry_timestamp_seconds',
    help: 'When the certificate in use expires, as Unix time',
  });
  const report = (message: string, { names, expiresAt }: TlsCertificate): void => {
    expiry.set(expiresAt.getTime() / 1_000);
    if (expiresAt.getTime() <= Date.now()) log.error('certificate expired', { names, expiresAt });
    else log.info(message, { names, expiresAt });
  };
  server.once('listening', () => {
    report('certificate in use', current);
    const stop = watchTlsCertificate(files, {
      current,
      everyMs: files.renewalCheckMs,
      onRenewed(renewed) {
        server.setSecureContext(contextOf(renewed));
        report('certificate renewed', renewed);
      },
      onProblem: (error) => log.warn('certificate not renewed', { error }),
    });
    server.once('close', stop);
  });
}
