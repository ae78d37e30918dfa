import { type Config, durationMs, integer, portOrFree, refuseValue, text, variable } from '@corral/service';
import type { ServeOptions } from './serve.js';
import type { TlsOptions } from './tls-server.js';

/** Variables of services that accept requests. */
export const drainVariables = {
  DRAIN_DELAY_MS: durationMs({
    default: 0,
    desc: 'After SIGTERM, time during which the process reports not ready but still serves requests, so that proxies can react. The images set 5 s.',
  }),
  SHUTDOWN_GRACE_MS: durationMs({
    default: 25_000,
    desc: 'Maximum time for requests in flight to finish after the drain delay.',
  }),
};

const speaksTls = (config: Record<string, unknown>): boolean =>
  [config.TLS_CERT_FILE, config.TLS_KEY_FILE, config.TLS_PORT].some((value) => value !== undefined);

const contactSpec = {
  default: undefined,
  desc: 'Whom to tell about a vulnerability, in `/.well-known/security.txt`. Without it, that path does not exist.',
  example: 'mailto:security@example.org',
};

/** Whom people tell about a vulnerability. */
export const contactVariables = {
  SECURITY_CONTACT: variable<string | undefined>(
    contactSpec,
    { type: 'contact', expected: 'a URL that starts with mailto: or https://', hidden: false },
    (input) => (/^(mailto:[^\s@]+@[^\s@]+|https:\/\/\S+)$/.test(input) ? input : refuseValue('is no contact')),
  ),
};

/** Variables of services that terminate TLS themselves. */
export const tlsVariables = {
  TLS_CERT_FILE: text({
    default: undefined,
    requiredWhen: speaksTls,
    desc: 'TLS certificate with its chain (PEM file). Enables TLS. The file is reloaded when it changes.',
    example: '/etc/corral/tls/tls.crt',
  }),
  TLS_KEY_FILE: text({
    default: undefined,
    requiredWhen: speaksTls,
    desc: 'Private key of the TLS certificate (PEM file).',
    example: '/etc/corral/tls/tls.key',
  }),
  TLS_PORT: portOrFree({
    default: undefined,
    desc: 'Separate port for TLS, while PORT serves plain HTTP. If not set, PORT serves TLS and plain HTTP is off.',
  }),
};

/** Variables that limit slow or numerous clients. */
export const clientVariables = {
  HEADERS_TIMEOUT_MS: durationMs({
    default: 10_000,
    min: 100,
    desc: 'Maximum time to receive the headers of a request.',
  }),
  REQUEST_TIMEOUT_MS: durationMs({
    default: 15_000,
    min: 100,
    desc: 'Maximum time to receive a whole request. After that its connection is closed.',
  }),
  CONNECTIONS_MAX: integer({ default: 4_096, min: 1, desc: 'Maximum number of open client connections.' }),
  CONNECTIONS_PER_ADDRESS: integer({
    default: 256,
    min: 1,
    desc: 'Maximum number of open connections from one IPv4 address or IPv6 /64. Trusted proxies are exempt.',
  }),
  REQUESTS_IN_FLIGHT_MAX: integer({
    default: 32,
    min: 1,
    desc: 'Maximum number of requests that are processed concurrently, but no more than there are connections for reads (DATABASE_CONNECTIONS). Eight times as many wait for one to end.',
  }),
};

export type ServerConfig = Config<typeof drainVariables & typeof tlsVariables & typeof clientVariables> & {
  readonly HOST: string;
  readonly PORT: number;
  readonly METRICS_PORT: number;
};

/** The options of `serve` from the configuration of a service. */
export function serverOptionsOf(config: ServerConfig) {
  return {
    host: config.HOST,
    port: config.PORT,
    tls: tlsOptions(config),
    timeouts: { headersMs: config.HEADERS_TIMEOUT_MS, requestMs: config.REQUEST_TIMEOUT_MS },
    connections: { max: config.CONNECTIONS_MAX, perAddressMax: config.CONNECTIONS_PER_ADDRESS },
    metricsPort: config.METRICS_PORT,
    drainDelayMs: config.DRAIN_DELAY_MS,
    shutdownGraceMs: config.SHUTDOWN_GRACE_MS,
  } satisfies Partial<ServeOptions>;
}

/** @returns the `tls` option of `serve`: undefined without a certificate */
export function tlsOptions(config: Config<typeof tlsVariables>): TlsOptions | undefined {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, TLS_PORT: port } = config;
  return certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile, port };
}
