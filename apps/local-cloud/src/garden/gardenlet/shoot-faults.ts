import type { OperationType, Shoot } from '../kinds/shoot/shoot.js';
import { parseLabelSelector } from '../kube/selectors.js';
import { isKnownCode } from './error-codes.js';
import type { FlowFault } from './simulation.js';

/** Makes flows go wrong. Without `namespace`, `name` and `labelSelector` it is for any Shoot. */
export interface ShootFault {
  namespace?: string;
  name?: string;
  labelSelector?: string;
  /** Types of flows. Default: every type. */
  operations?: OperationType[];
  /** How many attempts it is for; null is for ever. Default 1. */
  times?: number | null;
  effect: {
    /** `ERR_…`; without a code Gardener tries again. */
    codes?: string[];
    message?: string;
    /** Name of the task that fails. */
    task?: string;
    /** Instead of failing, the flow stops half-way and stays Processing until the faults are cleared. */
    stuck?: boolean;
  };
}

export interface HeldShootFault extends ShootFault {
  readonly id: number;
  readonly hits: number;
  readonly remaining: number | null;
}

/** The faults that wait for flows, oldest first: the first that fits takes effect. */
export class ShootFaults {
  #held: { id: number; fault: ShootFault; hits: number; remaining: number | null }[] = [];
  #nextId = 1;

  /** @throws Error when a fault is not of the documented form; none is added then */
  add(faults: readonly ShootFault[]): HeldShootFault[] {
    const added = faults.map((fault) => {
      checkFault(fault);
      return { id: this.#nextId++, fault, hits: 0, remaining: fault.times === undefined ? 1 : fault.times };
    });
    this.#held.push(...added);
    return added.map(shownFault);
  }

  list(): HeldShootFault[] {
    return this.#held.map(shownFault);
  }

  clear(): void {
    this.#held = [];
  }

  /** Finds what goes wrong with a flow that begins, and counts that it did. */
  take(shoot: Shoot, type: OperationType): FlowFault | null {
    const { namespace, name, labels = {} } = shoot.metadata;
    for (const held of this.#held) {
      const { fault } = held;
      if (held.remaining === 0) continue;
      if (fault.namespace !== undefined && fault.namespace !== namespace) continue;
      if (fault.name !== undefined && fault.name !== name) continue;
      if (fault.labelSelector !== undefined && !parseLabelSelector(fault.labelSelector)(labels)) continue;
      if (fault.operations !== undefined && !fault.operations.includes(type)) continue;
      held.hits += 1;
      if (held.remaining !== null) held.remaining -= 1;
      return fault.effect;
    }
    return null;
  }
}

const shownFault = ({
  id,
  fault,
  hits,
  remaining,
}: {
  id: number;
  fault: ShootFault;
  hits: number;
  remaining: number | null;
}) => ({
  ...fault,
  id,
  hits,
  remaining,
});

function checkFault({ effect, times = 1, labelSelector }: ShootFault): void {
  if (typeof effect !== 'object' || effect === null) throw new Error('A fault of a Shoot needs an `effect`.');
  if (times !== null && !(Number.isInteger(times) && times > 0)) {
    throw new Error('`times` is a positive integer or null.');
  }
  const unknown = (effect.codes ?? []).filter((code) => !isKnownCode(code));
  if (unknown.length > 0) throw new Error(`Gardener has no error code ${unknown.join(', ')}.`);
  if (labelSelector !== undefined) parseLabelSelector(labelSelector);
}
