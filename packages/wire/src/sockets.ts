import http from 'node:http';
import https from 'node:https';
import { createSecureContext } from 'node:tls';

/** Trusted authorities and our own certificate. Defaults are those of Node.js. */
export type TlsMaterial = Pick<https.RequestOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;

export interface AgentOptions {
  /**
   * How long an idle connection is kept. Below what the server allows, so that no request meets a connection that is
   * being closed. A server may shorten it by its `Keep-Alive` header.
   */
  readonly idleMsMax: number;
  /** Connections at the same time; more requests wait for one. Default: 64. */
  readonly socketsMax?: number | undefined;
  readonly tls?: TlsMaterial | undefined;
  /** Address of an HTTP proxy that all connections go through. */
  readonly proxyUrl?: string | null | undefined;
}

const socketsUsual = 64;

/** Opens connections to a server that calls use one after the other. `destroy` ends them all. */
export function openAgent(
  { protocol }: Pick<URL, 'protocol'>,
  { idleMsMax, socketsMax = socketsUsual, tls, proxyUrl }: AgentOptions,
): http.Agent {
  const keeping = {
    ...{ keepAlive: true, maxSockets: socketsMax, timeout: idleMsMax },
    ...(proxyUrl == null ? {} : { proxyEnv: { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl } }),
  };
  if (protocol === 'http:') return new http.Agent(keeping);
  if (tls === undefined) return new https.Agent(keeping);
  const { ca, cert, key, servername, rejectUnauthorized } = tls;
  // Parsed once, not with each connection.
  const secureContext = createSecureContext(defined({ ca, cert, key }));
  return new https.Agent({ ...keeping, secureContext, ...defined({ servername, rejectUnauthorized }) });
}

/** Calls under way end undisturbed; afterwards their connections are not kept. */
export function retireAgent(agent: http.Agent): void {
  Object.assign(agent, { keepAlive: false });
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

function defined<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}
