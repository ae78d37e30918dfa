import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Log, Metrics } from '@corral/service';
import type { Express } from 'express';
import { type DrainableServer, type HttpServerOptions, serveApp, serverOptions } from './http-server.js';
import { readTlsCertificate, type TlsCertificate, type TlsFiles, watchTlsCertificate } from './tls-certificate.js';

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
    log.info(message, { names, expiresAt });
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
