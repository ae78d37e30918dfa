import { createHash } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { createSecureContext } from 'node:tls';
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { codeOf, GardenError } from './errors.js';
import { type KubeconfigSource, loadKubeconfig, readKubeconfig } from './kubeconfig.js';

/** All that makes a request ours. */
export interface Identity {
  server: URL;
  /** authorization and impersonation */
  headers: Readonly<Record<string, string>>;
  agent: http.Agent;
}

export interface Credentials {
  /** @throws GardenError `credentials` when a token, a certificate or a plugin's answer cannot be had */
  identity(): Promise<Identity>;
  /**
   * Reads everything anew, because the garden refused an identity.
   *
   * @returns null when there is still no other one
   */
  replacementOf(refused: Identity): Promise<Identity | null>;
  /** Lets go of connections as calls under way end. */
  retire(): void;
  /** Ends all connections. */
  close(): void;
}

/** Bound tokens live for an hour and are replaced well before: files are looked at again after this time. */
const identityMsMax = 10_000;
/** client-node waits for ever for an exec plugin. */
const readMsMax = 30_000;

/**
 * Opens what a kubeconfig or the service account of the pod names. client-node does the authentication: tokens,
 * token files, certificates, exec plugins, OIDC, impersonation.
 *
 * @throws Error when it cannot be used
 */
export function openCredentials(source: KubeconfigSource): Credentials {
  let text = readKubeconfig(source);
  let config = loadKubeconfig(source, text);
  let known: (Identity & { fingerprint: string; readAt: number }) | null = null;
  let reading: Promise<Identity> | null = null;

  const read = async (): Promise<Identity> => {
    const { headers, tls, agent, fingerprint } = await authenticate(config);
    const server = new URL(config.getCurrentCluster()?.server ?? '');
    const sameAgent = known?.fingerprint === fingerprint ? known.agent : null;
    const next = { server, headers, agent: sameAgent ?? agent ?? makeAgent(server, tls) };
    if (known !== null && sameAgent === null) retire(known.agent);
    known = { ...next, fingerprint, readAt: performance.now() };
    return known;
  };
  // One at a time: a burst of calls must not start a burst of plugins.
  const readOnce = (): Promise<Identity> => {
    reading ??= withinMs(read(), readMsMax)
      .catch((error: unknown) => {
        // Only the code: a message may hold what a plugin printed.
        throw new GardenError('credentials', `our own cannot be read (${codeOf(error)})`);
      })
      .finally(() => {
        reading = null;
      });
    return reading;
  };
  const reload = (when: 'changed' | 'always') => {
    try {
      const next = readKubeconfig(source);
      if (next === text && when === 'changed') return;
      config = loadKubeconfig(source, next);
      text = next;
    } catch {
      // A file that is being replaced is absent or half for a moment: what was read before serves on.
    }
  };

  return {
    async identity() {
      if (known !== null && performance.now() - known.readAt < identityMsMax) return known;
      reload('changed');
      try {
        return await readOnce();
      } catch (error) {
        // A token that cannot be read just now may be good for a while yet: the garden shall say.
        if (known !== null) return known;
        throw error;
      }
    },
    async replacementOf(refused) {
      // Another call may have met the same refusal a moment ago.
      if (known === null || isSame(known, refused)) {
        reload('always');
        await readOnce();
      }
      return known === null || isSame(known, refused) ? null : known;
    },
    retire: () => known && retire(known.agent),
    close: () => known?.agent.destroy(),
  };
}

function isSame(one: Identity, other: Identity): boolean {
  return one.agent === other.agent && JSON.stringify(one.headers) === JSON.stringify(other.headers);
}

type TlsMaterial = Pick<https.RequestOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;

interface Authentication {
  headers: Record<string, string>;
  tls: TlsMaterial;
  /** one that speaks to a proxy; null without one */
  agent: http.Agent | null;
  /** changes with all that connections depend on */
  fingerprint: string;
}

async function authenticate(config: KubeConfig): Promise<Authentication> {
  const options: https.RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const { ca, cert, key, servername, rejectUnauthorized } = options;
  const tls = { ca, cert, key, servername, rejectUnauthorized };
  const { server, proxyUrl } = config.getCurrentCluster() ?? {};
  const hash = createHash('sha256');
  for (const part of [server, proxyUrl, ...Object.values(tls)]) hash.update(`${part};`);
  return {
    headers: headersOf(options),
    tls,
    agent: proxyUrl ? kept(options.agent) : null,
    fingerprint: hash.digest('hex'),
  };
}

/** Tokens in files end with a newline, which no header may hold. */
function headersOf({ headers, auth }: https.RequestOptions): Record<string, string> {
  const texts = Object.entries(headers ?? {}).map(([name, value]) => [name, String(value).trim()] as const);
  const basic = auth ? [['Authorization', `Basic ${Buffer.from(auth).toString('base64')}`] as const] : [];
  return Object.fromEntries([...texts, ...basic]);
}

/** A server may shorten `timeout`, the time for which an idle connection is kept, by its `Keep-Alive` header. */
const keeping = { keepAlive: true, maxSockets: 64, timeout: 30_000 };

function makeAgent(server: URL, { ca, cert, key, servername, rejectUnauthorized }: TlsMaterial): http.Agent {
  if (server.protocol === 'http:') return new http.Agent(keeping);
  // Parsed once, not with each connection.
  const secureContext = createSecureContext(defined({ ca, cert, key }));
  return new https.Agent({ ...keeping, secureContext, ...defined({ servername, rejectUnauthorized }) });
}

/** client-node makes an agent for one request; only it knows the protocols of proxies. */
function kept(agent: unknown): http.Agent | null {
  if (!(agent instanceof http.Agent)) return null;
  Object.assign(agent, { keepAlive: true, maxSockets: keeping.maxSockets });
  Object.assign((agent as http.Agent & { options: object }).options, keeping);
  return agent;
}

/** Calls under way end undisturbed; afterwards their connections are not kept. */
function retire(agent: http.Agent): void {
  Object.assign(agent, { keepAlive: false });
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

function defined<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}

async function withinMs<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error('late'), { code: 'ETIMEDOUT' })), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
