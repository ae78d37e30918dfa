import type { Clock } from '../clock.js';
import type { Calls } from '../faults/calls.js';
import type { Rights } from '../garden-accounts.js';
import type { ProjectTokens } from '../project-tokens.js';
import type { ShootAuthorities } from './authorities.js';
import type { Clusters } from './cluster/clusters.js';
import type { GardenSettings } from './settings.js';
import type { ObjectStore } from './store.js';
import type { Writes } from './writes.js';

/** What the parts of the garden share. */
export interface GardenParts {
  readonly clock: Clock;
  readonly calls: Calls;
  readonly projectTokens: ProjectTokens;
  /** Read before every use: they can change at run time. */
  readonly settings: () => GardenSettings;
  readonly store: ObjectStore;
  readonly writes: Writes;
  readonly rights: Rights;
  readonly authorities: ShootAuthorities;
  readonly clusters: Clusters;
}
