import type { Clock } from '../clock.js';
import type { Calls } from '../faults/calls.js';
import type { Account, AccountName } from '../garden-accounts.js';
import type { Watches } from '../kube/reads.js';
import type { ObjectStore } from '../kube/store.js';
import type { Writes } from '../kube/writes.js';
import type { ProjectTokens } from '../project-tokens.js';
import type { ShootAuthorities } from './credentials.js';
import type { GardenSettings } from './settings.js';

/** An API server of Kubernetes that has the objects of a Shoot's cluster in our place. */
export interface RealApiServer {
  readonly url: string;
  /** Bearer token with all rights. */
  readonly token: string;
  /** PEM. */
  readonly authority: string;
}

/** What the parts of the garden share. */
export interface GardenParts {
  readonly clock: Clock;
  readonly calls: Calls;
  readonly projectTokens: ProjectTokens;
  /** They change at run time. */
  readonly settings: GardenSettings;
  readonly store: ObjectStore;
  readonly writes: Writes;
  readonly watches: Watches;
  readonly accounts: Readonly<Record<AccountName, Account>>;
  readonly authorities: ShootAuthorities;
  /** By the names of the clusters whose objects they have. */
  readonly realApiServers: Map<string, RealApiServer>;
}
