import http from 'node:http';
import https from 'node:https';

/** Trusted authorities and our own certificate. Defaults are those of Node.js. */
export type TlsMaterial = Pick<https.AgentOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;

export interface AgentOptions {
  /**
   * How long an idle connection is kept. Below what the server allows, so that no request meets a connection that is
   * being closed. A server may shorten it by its `Keep-Alive` header.
   */
  readonly idleMsMax: number;
  /** Connections at the same time; more requests wait for one. Default: 64. */
  readonly socketsMax?: number | undefined;
  readonly tls?: TlsMaterial;
  /** Address of an HTTP proxy that all connections go through. */
  readonly proxyUrl?: string | null;
}

const socketsUsual = 64;

/** Opens connections to a server that calls use one after the other. `destroy` ends them all. */
export function openAgent(
  { protocol }: Pick<URL, 'protocol'>,
  { idleMsMax, socketsMax = socketsUsual, tls, proxyUrl = null }: AgentOptions,
): http.Agent {
  const options = {
    ...{ keepAlive: true, maxSockets: socketsMax, timeout: idleMsMax },
    ...(proxyUrl !== null && { proxyEnv: { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl } }),
  };
  return protocol === 'http:' ? new http.Agent(options) : new https.Agent({ ...options, ...tls });
}
