import { connectGarden, type GardenClient } from '@corral/garden';
import { silentLog } from '@corral/service';
import type { Caller } from './rest.js';

/** A garden to probe: the real API server, or the local cloud. */
export interface Target {
  readonly name: string;
  /** The credentials of an administrator. */
  readonly admin: Caller;
  readonly accounts: Readonly<Record<AccountName, Caller>>;
  /** Whether a scheduler and a gardenlet work on Shoots. */
  readonly hasControllers: boolean;
  /** Does the work of the Gardener controllers for a new Project, if nothing else does. */
  settleProject(name: string): Promise<void>;
  /** @param max the number of Secrets in the namespace; null for no quota */
  limitSecrets(namespace: string, max: number | null): Promise<void>;
  /** Puts something of the operators in the way of Shoots of the namespace. Resolves once it is in force. */
  obstruct(namespace: string, obstacle: Obstacle | null): Promise<void>;
  /** Makes an object forget its field managers, like a restore from a backup by other means. */
  forgetManagers(path: string): Promise<void>;
  /** Makes it impossible for watches to continue from an older version. */
  expireHistory(): Promise<void>;
  /** Restarts the server without waiting for it. Null if that is impossible. */
  restart: (() => Promise<void>) | null;
  stop(): Promise<void>;
}

/**
 * What an operator of the garden puts in the way of the Shoots of a namespace: a policy against pools of 9 nodes, a webhook that does
 * not answer, or the image of a pool that has expired.
 */
export type Obstacle = 'policy' | 'dead webhook' | 'expired image';

export type AccountName = 'reconciler' | 'cluster-api';

/** The kubeconfig of a caller as JSON, which is also YAML. */
export function kubeconfigOf({ url, authority, token }: Caller): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'garden', user: 'probe' } }],
    clusters: [
      {
        name: 'garden',
        cluster: { server: url, 'certificate-authority-data': Buffer.from(authority).toString('base64') },
      },
    ],
    users: [{ name: 'probe', user: { token } }],
  });
}

export function connect(caller: Caller): GardenClient {
  return connectGarden({ kubeconfigText: kubeconfigOf(caller), cloudProfileName: 'hcloud', log: silentLog });
}
