import type { KeyPair } from '@corral/pki';
import type { ClusterContents } from '../cluster/contents.js';
import type { OperationType, ShootSpec } from '../kinds/shoot/shoot.js';
import type { Held } from '../store/held.js';

/** How a flow is made to go wrong. */
export interface FlowFault {
  /** The flow stops half-way and stays Processing. */
  readonly stuck?: boolean;
  readonly codes?: readonly string[];
  readonly message?: string;
  /** The task that fails. */
  readonly task?: string;
}

/** A flow under way. It acts on the spec that it began with. */
export interface Flow {
  readonly type: OperationType;
  /** Tasks that are done. */
  readonly step: number;
  readonly spec: ShootSpec;
  readonly fault: FlowFault | null;
}

/** A machine of the Shoot, which is also its node. */
export interface Machine {
  readonly name: string;
  readonly pool: string;
  /** RFC 3339. */
  readonly createdAt: string;
}

/** What the simulation knows of a Shoot beside the object; kept with it, never served. */
export interface Simulation {
  readonly flow?: Flow;
  /** What the last flow that succeeded acted on. */
  readonly reconciled?: { readonly spec: ShootSpec; readonly machines: readonly Machine[] };
  /** Health is to be checked: conditions are still Progressing. */
  readonly careDue?: boolean;
  /** The scheduler found no seed for this generation. */
  readonly unschedulable?: number;
  readonly authority?: KeyPair;
  readonly inside?: ClusterContents;
}

export const simulationOf = ({ hidden }: Held): Simulation =>
  hidden === null ? {} : (JSON.parse(hidden) as Simulation);
