import type { Clock } from './clock.js';
import type { Servers } from './compute/servers.js';
import type { ExtraFields } from './dns/model.js';
import type { Zones } from './dns/zones.js';
import type { Calls } from './faults/calls.js';
import type { ProviderNode } from './garden/shoots/provider.js';
import type { Budget } from './hcloud/budget.js';
import type { ProjectTokens } from './project-tokens.js';

/** What the provider's API and the admin address share. */
export interface Cloud {
  readonly clock: Clock;
  readonly calls: Calls;
  readonly zones: Zones;
  readonly servers: Servers;
  /** The budget of the zones' project. */
  readonly budget: Budget;
  /** Tokens of the zones' project. */
  readonly tokens: readonly string[];
  /** Valid tokens of all projects. */
  readonly projectTokens: ProjectTokens;
  /** Merged into objects in responses. The admin replaces them. */
  extraFields: ExtraFields;
  /** Servers that the garden created in a project. They are read-only for the provider. */
  readonly nodesIn: (project: string) => ProviderNode[];
}
