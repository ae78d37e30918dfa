import type { KeyPair } from '@corral/testing/certificates';
import type { ClusterContents } from '../cluster/contents.js';
import type { OperationType, ShootSpec } from './shoot.js';

/** What goes wrong with a flow. */
export interface FlowFault {
  /** The flow stops half-way and stays Processing until the faults are cleared. */
  readonly stuck?: boolean;
  /** `ERR_…`. Gardener retries errors without a code. */
  readonly codes?: readonly string[];
  readonly message?: string;
}

/** A running flow. It uses the spec from its start. */
export interface Flow {
  readonly type: OperationType;
  /** Number of completed tasks. */
  readonly step: number;
  readonly spec: ShootSpec;
  readonly fault: FlowFault | null;
}

/** A machine of the Shoot. It is also a node, and a server of the provider. */
export interface Machine {
  readonly name: string;
  readonly pool: string;
  /** RFC 3339. */
  readonly createdAt: string;
}

/** What is kept with a Shoot but never served. Immutable. */
export interface Simulation {
  readonly flow?: Flow;
  /** Result of the last successful flow. */
  readonly reconciled?: { readonly spec: ShootSpec; readonly machines: readonly Machine[] };
  /** A health check is due: conditions are still Progressing. */
  readonly careDue?: boolean;
  readonly authority?: KeyPair;
  readonly inside?: ClusterContents;
}
