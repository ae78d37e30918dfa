import { connectGarden, type GardenClient } from '@corral/garden';
import { silentLog } from '@corral/service';
import type { Caller } from './rest.js';

/** A garden to be probed: the real API server, or the local cloud. */
export interface Target {
  readonly name: string;
  /** May do everything. */
  readonly admin: Caller;
  readonly accounts: Readonly<Record<AccountName, Caller>>;
  /** Scheduler and gardenlet are there, and work on Shoots. */
  readonly hasControllers: boolean;
  /** Does what Gardener's controllers do with a new Project, where nobody else does. */
  settleProject(name: string): Promise<void>;
  /** @param max Secrets in the namespace; null for no quota */
  limitSecrets(namespace: string, max: number | null): Promise<void>;
  /** As a restore from a backup by other means. */
  forgetManagers(path: string): Promise<void>;
  /** No watch can go on from the past. */
  expireHistory(): Promise<void>;
  /** Starts the server anew, and does not wait for it. Null where that cannot be done. */
  restart: (() => Promise<void>) | null;
  stop(): Promise<void>;
}

export type AccountName = 'reconciler' | 'cluster-api';

/** The kubeconfig of a caller, as JSON, which is YAML. */
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
