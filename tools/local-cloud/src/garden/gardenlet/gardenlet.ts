import { randomUUID } from 'node:crypto';
import { type Clock, DueQueue } from '../../clock.js';
import type { Clusters } from '../cluster/clusters.js';
import { updatedManagedFields } from '../fields/managed-fields.js';
import { apiVersionOf } from '../kinds/kind.js';
import type { Shoot } from '../kinds/shoot/shoot.js';
import { shoots } from '../kinds/shoot/shoots.js';
import type { KubeObject } from '../kube/object.js';
import { type Held, keyOf, objectOf } from '../objects/held.js';
import type { ObjectStore } from '../objects/object-store.js';
import type { Objects } from '../objects/objects.js';
import { decideStep, type Step } from './decide-step.js';
import type { GardenSpeed } from './flow-plan.js';
import { isKnown, nodeTroubleOf } from './health.js';
import { advanceFlow, checkHealth, type Outcome, startFlow, type World } from './perform-step.js';
import { seedFor } from './seeds.js';
import { hits, shootFaults } from './shoot-faults.js';
import { type FlowFault, type Simulation, simulationOf } from './simulation.js';

export interface GardenletDeps {
  readonly store: ObjectStore;
  readonly objects: Objects;
  readonly clock: Clock;
  /** Read before every step: it can change at run time. */
  readonly speed: () => GardenSpeed;
  readonly tokenFaultOf: (shoot: Shoot) => FlowFault | null;
  readonly clusters: Pick<Clusters, 'onChange'>;
  /** Addresses of every Shoot's API server. */
  readonly addresses: World['addresses'];
}

/** Reconciles Shoots like the scheduler and gardenlet. Uses no timer for a Shoot at rest. */
export class Gardenlet {
  readonly faults = shootFaults();
  readonly #deps: GardenletDeps;
  readonly #queue: DueQueue;
  readonly #unsubscribe: (() => void)[];

  constructor(deps: GardenletDeps) {
    this.#deps = deps;
    this.#queue = new DueQueue(deps.clock, (key) => this.#run(key));
    for (const held of deps.store.list('shoots')) this.#consider(held);
    this.#unsubscribe = [
      deps.store.subscribe('shoots', ({ type, held, object }) => {
        if (type === 'DELETED') this.#queue.remove(keyOf(held.namespace, held.name));
        else this.#consider(held, object as Shoot);
      }),
      deps.clusters.onChange((held) => this.#lookAtNodes(held)),
    ];
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#queue.close();
  }

  /** Removes all faults. Stuck flows continue. */
  clearFaults(): void {
    this.faults.clear();
    for (const held of this.#deps.store.list('shoots')) {
      const simulation = simulationOf(held);
      if (simulation.flow?.fault?.stuck !== true) continue;
      this.#deps.store.hide('shoots', held, { ...simulation, flow: { ...simulation.flow, fault: null } });
      const released = this.#deps.store.get('shoots', held.namespace, held.name);
      if (released !== null) this.#consider(released);
    }
  }

  #consider(held: Held, shoot = objectOf<Shoot>(held)): void {
    const key = keyOf(held.namespace, held.name);
    const due = decideStep(shoot, simulationOf(held), this.#deps.speed());
    if (due === null) this.#queue.remove(key);
    else if (!this.#queue.has(key)) this.#queue.add(key, due.afterMs);
  }

  /** Schedules a health check if its result would differ. */
  #lookAtNodes(held: Held): void {
    const shoot = objectOf<Shoot>(held);
    const simulation = simulationOf(held);
    if (simulation.careDue === true || isKnown(shoot, nodeTroubleOf(shoot.spec, simulation))) return;
    this.#deps.store.hide('shoots', held, { ...simulation, careDue: true });
    const changed = this.#deps.store.get('shoots', held.namespace, held.name);
    if (changed !== null) this.#consider(changed, shoot);
  }

  #run(key: string): void {
    const [namespace = '', name = ''] = key.split('/');
    const held = this.#deps.store.get('shoots', namespace, name);
    if (held === null) return;
    const shoot = objectOf<Shoot>(held);
    const simulation = simulationOf(held);
    const due = decideStep(shoot, simulation, this.#deps.speed());
    if (due === null) return;
    if (due.step.do === 'schedule') this.#schedule(shoot);
    else this.#keep(shoot, this.#perform(shoot, simulation, due.step));
  }

  #perform(shoot: Shoot, simulation: Simulation, step: Exclude<Step, { do: 'schedule' }>): Outcome {
    const isStart = step.do === 'start';
    const world: World = {
      nowMs: this.#deps.clock.now(),
      project: this.#projectOf(shoot),
      newUid: randomUUID(),
      tokenFault: isStart ? this.#deps.tokenFaultOf(shoot) : null,
      orderedFault: isStart ? (this.faults.take((fault) => hits(fault, shoot, step.type))?.effect ?? null) : null,
      addresses: this.#deps.addresses,
    };
    if (step.do === 'start') return startFlow(shoot, simulation, step.type, world);
    if (step.do === 'check health' || simulation.flow === undefined) return checkHealth(shoot, simulation, world);
    return advanceFlow(shoot, simulation, simulation.flow, world);
  }

  #keep(before: Shoot, outcome: Outcome): void {
    const { namespace = '', name = '' } = before.metadata;
    if (outcome.kind === 'gone') {
      this.#deps.store.remove('shoots', namespace, name);
      return;
    }
    this.#put(before, outcome.shoot, 'gardenlet', outcome.simulation);
  }

  /** Writes like a controller: metadata and status are separate shares of the object. */
  #put(before: Shoot, after: Shoot, manager: string, simulation?: Simulation): void {
    const { clock, store } = this.#deps;
    const fields = { schema: shoots.schema, apiVersion: apiVersionOf(shoots), nowMs: clock.now() };
    // Unchanged parts keep their identity, which makes the comparison cheap.
    const between: KubeObject = { ...before, metadata: after.metadata };
    between.metadata = {
      ...after.metadata,
      managedFields: updatedManagedFields(
        before,
        between,
        { name: manager, subresource: '' },
        { ...fields, resetFields: [['f:status']] },
      ),
    };
    const managedFields = updatedManagedFields(
      between,
      after,
      { name: manager, subresource: 'status' },
      { ...fields, resetFields: [['f:spec'], ['f:metadata']] },
    );
    store.put('shoots', { ...after, metadata: { ...after.metadata, managedFields } }, simulation);
  }

  #schedule(shoot: Shoot): void {
    const { namespace = '', name = '' } = shoot.metadata;
    const scheduled = { ...shoot, spec: { ...shoot.spec, seedName: seedFor(shoot.spec.region) } };
    try {
      this.#deps.objects.update(shoots, namespace, name, scheduled, {
        user: 'system:serviceaccount:garden:gardener-scheduler',
        fieldManager: 'gardener-scheduler',
        subresource: 'binding',
      });
    } catch {
      // Refused, for example because its credentials are gone: it has no seed until it changes.
    }
  }

  #projectOf({ metadata: { namespace = '' } }: Shoot): string {
    const held = this.#deps.store.get('namespaces', '', namespace);
    return held?.labels['project.gardener.cloud/name'] ?? namespace.replace(/^garden-/, '');
  }
}
