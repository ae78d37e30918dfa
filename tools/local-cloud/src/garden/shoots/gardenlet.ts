import { randomUUID } from 'node:crypto';
import { DueQueue } from '../../clock.js';
import { HeldRules } from '../../faults/fault-rules.js';
import type { GardenParts } from '../parts.js';
import { type Held, keyOf, objectOf } from '../store.js';
import { decideStep, type World } from './flows.js';
import { isReported, nodeTroubleOf } from './health.js';
import { tokenFaultOf } from './provider.js';
import type { FlowFault, OperationType, Shoot } from './shoot.js';

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
  readonly #unsubscribe: (() => void)[];

  constructor(
    private readonly parts: GardenParts,
    private readonly addresses: World['addresses'],
  ) {
    this.#queue = new DueQueue(parts.clock, (key) => this.#run(key));
    for (const held of parts.store.list('shoots')) this.#consider(held);
    this.#unsubscribe = [
      parts.store.subscribe('shoots', ({ type, held }) => {
        if (type === 'DELETED') this.#queue.remove(keyOf(held.namespace, held.name));
        else this.#consider(held);
      }),
      parts.clusters.onChange((held) => this.#lookAtNodes(held)),
    ];
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#queue.close();
  }

  /** Removes all faults. Stuck flows continue. */
  clearFaults(): void {
    this.faults.clear();
    for (const held of this.parts.store.list('shoots')) {
      const { flow } = held.simulation;
      if (flow?.fault?.stuck === true) this.#simulate(held, { ...held.simulation, flow: { ...flow, fault: null } });
    }
  }

  #simulate(held: Held, simulation: Held['simulation']): void {
    const changed = this.parts.store.simulate('shoots', held, simulation);
    if (changed !== null) this.#consider(changed);
  }

  #consider(held: Held): void {
    const key = keyOf(held.namespace, held.name);
    const due = decideStep(objectOf(held), held.simulation, this.parts.settings());
    if (due === null) this.#queue.remove(key);
    else if (!this.#queue.has(key)) this.#queue.add(key, due.afterMs);
  }

  /** Schedules a health check if its result would differ. */
  #lookAtNodes(held: Held): void {
    const { spec, status } = objectOf<Shoot>(held);
    const { simulation } = held;
    if (simulation.careDue === true || isReported(status, nodeTroubleOf(spec, simulation))) return;
    this.#simulate(held, { ...simulation, careDue: true });
  }

  #run(key: string): void {
    const { store, clock, settings } = this.parts;
    const [namespace = '', name = ''] = key.split('/');
    const held = store.get('shoots', namespace, name);
    const due = held && decideStep(objectOf(held), held.simulation, settings());
    if (held === null || due === null) return;
    const project = store.get('namespaces', '', namespace)?.labels['project.gardener.cloud/name'] ?? namespace;
    const fault = due.starts === null ? null : this.#faultOf(objectOf<Shoot>(held), due.starts);
    const { addresses } = this;
    const changed = due.perform({ nowMs: clock.now(), project, newUid: randomUUID(), fault, addresses });
    if (changed === null) store.remove('shoots', namespace, name);
    else store.put('shoots', changed.shoot, changed.simulation);
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
