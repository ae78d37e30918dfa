import { type HeldRule, HeldRules } from '../../faults/held-rules.js';
import type { OperationType, Shoot } from '../kinds/shoot/shoot.js';
import type { FlowFault } from './simulation.js';

/** Fault for flows. Without `namespace` and `name` it applies to any Shoot. */
export interface ShootFault {
  namespace?: string;
  name?: string;
  /** Types of flows. Default: all. */
  operations?: OperationType[];
  /** Number of attempts to affect; null for no limit. Default 1. */
  times?: number | null;
  effect: FlowFault;
}

export type HeldShootFault = HeldRule<ShootFault>;

/** Creates the list of pending flow faults. */
export const shootFaults = (): HeldRules<ShootFault> => new HeldRules(checkFault);

/** Whether a fault applies to a flow that starts. */
export function hits(fault: ShootFault, { metadata }: Shoot, type: OperationType): boolean {
  const { namespace = metadata.namespace, name = metadata.name, operations = [type] } = fault;
  return namespace === metadata.namespace && name === metadata.name && operations.includes(type);
}

function checkFault({ effect }: ShootFault): void {
  if (typeof effect !== 'object' || effect === null) throw new Error('A fault of a Shoot needs an `effect`.');
}
