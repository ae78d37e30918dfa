import { createHash } from 'node:crypto';
import { codeOf, type Endpoint, openAgent, orLate } from '@corral/service';
import { GardenError } from '../calls/garden-error.js';
import { openAuthentication } from './authenticate.js';
import { type KubeconfigSource, loadKubeconfig, readKubeconfig } from './kubeconfig.js';

/** Requests go there and authenticate in this way. The headers are authorization and impersonation. */
export type Identity = Endpoint;

export interface Credentials {
  /** @throws GardenError `credentials` when a token or certificate cannot be read, or an exec plugin fails */
  identity(): Promise<Identity>;
  /**
   * Reads all credentials again after the garden refused an identity.
   *
   * @returns null when they have not changed
   */
  replacementOf(refused: Identity): Promise<Identity | null>;
  /** Ends all connections. */
  close(): void;
}

/** Interval for reading files again. Bound tokens live for an hour and are replaced well before their expiry. */
const identityMsMax = 10_000;
const readMsMax = 30_000;

/**
 * Opens the credentials of a kubeconfig or of the pod's service account.
 *
 * @throws Error when it cannot be used
 */
export function openCredentials(source: KubeconfigSource): Credentials {
  let text = readKubeconfig(source);
  let config = loadKubeconfig(source, text);
  let authenticate = openAuthentication(config);
  let known: (Identity & { fingerprint: string; readAt: number }) | null = null;
  let reading: Promise<Identity> | null = null;

  const read = async (): Promise<Identity> => {
    const { server, proxyUrl } = config;
    const { headers, tls } = await authenticate();
    // Changes with every setting that connections depend on.
    const hash = createHash('sha256');
    for (const part of [server, proxyUrl, ...Object.values(tls)]) hash.update(`${part};`);
    const fingerprint = hash.digest('hex');
    const sameAgent = known?.fingerprint === fingerprint ? known.agent : null;
    // Calls with an old agent end undisturbed, and its idle connections by themselves.
    const agent = sameAgent ?? openAgent(server, { tls, proxyUrl });
    const readAt = performance.now();
    known = { server, headers, agent, isProxied: proxyUrl !== null, fingerprint, readAt };
    return known;
  };
  // One at a time: a burst of calls must not start many plugin processes.
  const readOnce = (): Promise<Identity> => {
    reading ??= orLate(read(), readMsMax, () => Object.assign(new Error('late'), { code: 'ETIMEDOUT' }))
      .catch((error: unknown) => {
        // Only the code: a message may hold a plugin's output.
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
      authenticate = openAuthentication(config);
      text = next;
    } catch {
      // A file may be absent or incomplete while it is replaced: keep what was read before.
    }
  };

  return {
    async identity() {
      if (known !== null && performance.now() - known.readAt < identityMsMax) return known;
      reload('changed');
      try {
        return await readOnce();
      } catch (error) {
        // The previous token may still be valid: let the garden decide.
        if (known !== null) return known;
        throw error;
      }
    },
    async replacementOf(refused) {
      // Another call may have replaced the refused identity already.
      if (known === null || isSame(known, refused)) {
        reload('always');
        await readOnce();
      }
      return known === null || isSame(known, refused) ? null : known;
    },
    close: () => known?.agent.destroy(),
  };
}

function isSame(one: Identity, other: Identity): boolean {
  return one.agent === other.agent && JSON.stringify(one.headers) === JSON.stringify(other.headers);
}
