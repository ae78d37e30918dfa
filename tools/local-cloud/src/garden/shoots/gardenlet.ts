import { DueQueue, timestamp } from '../../clock.js';
import { HeldRules } from '../../faults/fault-rules.js';
import { shoots } from '../../kube/kinds.js';
import { type Held, keyOf, objectOf } from '../../kube/store.js';
import { projectOf } from '../admission.js';
import { nodesOf, settleCluster } from '../nodes.js';
import type { GardenParts } from '../parts.js';
import { advanceFlow, type Changed, nextStep, type Step, scheduled, startFlow } from './flows.js';
import { checkedHealth, isCheckDue } from './health.js';
import { tokenFaultOf } from './provider.js';
import type { FlowFault, OperationType, Shoot, ShootStatus } from './shoot.js';

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

/** Takes Shoots through their flows, like the scheduler and gardenlet. Uses no timer for a Shoot at rest. */
export class Gardenlet {
  readonly faults = new HeldRules<ShootFault>();
  readonly #queue: DueQueue;
  readonly #unsubscribe: () => void;

  constructor(
    private readonly parts: GardenParts,
    private readonly addresses: NonNullable<ShootStatus['advertisedAddresses']>,
  ) {
    this.#queue = new DueQueue(parts.clock, (key) => this.#run(key));
    for (const held of parts.store.list(shoots.plural)) this.#consider(held);
    this.#unsubscribe = parts.store.subscribe(({ collection, type, held }) => {
      if (collection === shoots.plural && type === 'DELETED') this.#queue.remove(keyOf(held));
      else if (collection === shoots.plural) this.#consider(held);
      else if (collection.endsWith(':/nodes')) this.#lookAtNodes(collection.slice(0, -':/nodes'.length));
    });
  }

  close(): void {
    this.#unsubscribe();
    this.#queue.close();
  }

  /** Removes all faults. Stuck flows continue. */
  clearFaults(): void {
    this.faults.clear();
    for (const held of this.parts.store.list(shoots.plural)) {
      const { flow } = held.simulation;
      if (flow?.fault?.stuck === true) this.#simulate(held, { ...held.simulation, flow: { ...flow, fault: null } });
    }
  }

  #simulate(held: Held, simulation: Held['simulation']): void {
    const changed = this.parts.store.simulate(shoots.plural, held, simulation);
    if (changed !== null) this.#consider(changed);
  }

  #consider(held: Held): void {
    const key = keyOf(held);
    const due = nextStep(objectOf(held), held.simulation, this.parts.settings);
    if (due === null) this.#queue.remove(key);
    else if (!this.#queue.has(key)) this.#queue.add(key, due.afterMs);
  }

  /** Schedules a health check if its result would differ. */
  #lookAtNodes(cluster: string): void {
    const held = this.#find(cluster);
    if (held === null || held.simulation.careDue === true) return;
    if (isCheckDue(objectOf(held), nodesOf(this.parts.store, held)))
      this.#simulate(held, { ...held.simulation, careDue: true });
  }

  #find(key: string): Held | null {
    const [namespace = '', name = ''] = key.split('/');
    return this.parts.store.get(shoots.plural, namespace, name);
  }

  #run(key: string): void {
    const { store, settings } = this.parts;
    const held = this.#find(key);
    const step = held && nextStep(objectOf(held), held.simulation, settings);
    if (held === null || step === null) return;
    const changed = this.#take(step, { shoot: objectOf(held), simulation: held.simulation });
    if (changed === null) {
      store.remove(shoots.plural, held.namespace, held.name);
      return;
    }
    const { flow } = held.simulation;
    const hasSucceeded = changed.shoot.status.lastOperation?.state === 'Succeeded';
    // Nothing is lost if the process is killed after it: the flow then does its last step again.
    if (flow !== undefined && flow.type !== 'Delete' && hasSucceeded)
      settleCluster(this.parts, { ...changed.shoot, spec: flow.spec });
    store.put(shoots.plural, changed.shoot, changed.simulation);
  }

  /** @returns null if the Shoot is gone */
  #take(step: Step, before: Changed): Changed | null {
    const { store, clock } = this.parts;
    const { shoot, simulation } = before;
    const { namespace = '', name = '' } = shoot.metadata;
    if (step.what === 'schedule') return { shoot: scheduled(shoot), simulation };
    if (step.what === 'advance') return advanceFlow(before, this.addresses, clock.now());
    if (step.what === 'start') {
      const project = projectOf(store, namespace);
      const fault = this.#faultOf(shoot, step.type);
      return startFlow(before, { type: step.type, fault, project }, clock.now());
    }
    const { careDue: _, ...atRest } = simulation;
    const status = {
      ...shoot.status,
      ...checkedHealth(shoot, nodesOf(store, { namespace, name }), timestamp(clock.now())),
    };
    return { shoot: { ...shoot, status }, simulation: atRest };
  }

  #faultOf(shoot: Shoot, type: OperationType): FlowFault | null {
    const { namespace, name } = shoot.metadata;
    const fits = (fault: ShootFault): boolean =>
      (fault.namespace ?? namespace) === namespace &&
      (fault.name ?? name) === name &&
      (fault.operations ?? [type]).includes(type);
    return this.faults.take(fits)?.effect ?? tokenFaultOf(this.parts, shoot);
  }
}
