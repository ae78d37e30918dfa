import { randomUUID } from 'node:crypto';
import { DueQueue, timestamp } from '../../clock.js';
import { HeldRules } from '../../faults/fault-rules.js';
import { nodes, shoots } from '../../kube/kinds.js';
import { clusterIn, type Held, keyOf, objectOf } from '../../kube/store.js';
import { projectOf } from '../admission.js';
import { nodesOf, settleCluster } from '../nodes.js';
import type { GardenParts } from '../parts.js';
import { API_SERVER_UP, finalCodes, nextStep, type Task, tasksOf } from './flows.js';
import { checkedHealth, isCheckDue, uncheckedHealth } from './health.js';
import { tokenFaultOf } from './provider.js';
import {
  type Flow,
  type FlowFault,
  type LastOperation,
  type OperationType,
  type Shoot,
  type ShootStatus,
  type Simulation,
  wantsHibernation,
} from './shoot.js';

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

const FINALIZER = 'gardener';

/** What becomes of a status: undefined removes a field. */
type StatusChange = { readonly [F in keyof ShootStatus]?: ShootStatus[F] | undefined };

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
      const cluster = clusterIn(collection, nodes);
      if (cluster !== null) this.#lookAtNodes(cluster);
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

  #simulate(held: Held, simulation: Simulation): void {
    const changed = this.parts.store.simulate(shoots.plural, held, simulation);
    if (changed !== null) this.#consider(changed);
  }

  #consider(held: Held): void {
    const due = nextStep(objectOf(held), held.simulation, this.parts.settings);
    if (due === null) this.#queue.remove(keyOf(held));
    else if (!this.#queue.has(keyOf(held))) this.#queue.add(keyOf(held), due.afterMs);
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
    const held = this.#find(key);
    const step = held && nextStep(objectOf(held), held.simulation, this.parts.settings);
    if (held === null || step === null) return;
    const shoot = objectOf<Shoot>(held);
    const { flow, careDue, ...atRest } = held.simulation;
    if (step.what === 'schedule') this.#schedule(shoot);
    else if (step.what === 'start') this.#start(shoot, step.type, held.simulation);
    else if (flow !== undefined) this.#advance(shoot, flow, { ...atRest, ...(careDue === true ? { careDue } : {}) });
    else this.#put(shoot, checkedHealth(shoot, nodesOf(this.parts.store, held), this.#now()), atRest);
  }

  /** Binds a Shoot to a seed. */
  #schedule({ metadata, spec, ...shoot }: Shoot): void {
    const generation = (metadata.generation ?? 1) + 1;
    this.#put({ ...shoot, metadata: { ...metadata, generation }, spec: { ...spec, seedName: 'seed-eu' } } as Shoot, {});
  }

  /** Starts a flow with the current specification. */
  #start(shoot: Shoot, type: OperationType, simulation: Simulation): void {
    const { metadata, spec, status } = shoot;
    const { generation, namespace = '', name, finalizers = [] } = metadata;
    const isRetry = status.lastOperation?.state === 'Error' && status.observedGeneration === generation;
    const change: StatusChange = {
      uid: status.uid || randomUUID(),
      technicalID: status.technicalID || `shoot--${projectOf(this.parts.store, namespace)}--${name}`,
      seedName: spec.seedName,
      observedGeneration: generation,
      retryCycleStartTime: (isRetry ? status.retryCycleStartTime : undefined) ?? this.#now(),
      lastOperation: this.#operation(type, 'Processing', 0, `${type} of Shoot cluster initialized.`),
    };
    const ours = { ...metadata, finalizers: [...new Set([...finalizers, FINALIZER])] };
    const flow: Flow = { type, step: 0, spec, fault: this.#faultOf(shoot, type) };
    this.#put({ ...shoot, metadata: ours }, change, { ...simulation, flow });
  }

  #faultOf(shoot: Shoot, type: OperationType): FlowFault | null {
    const { namespace, name } = shoot.metadata;
    const fits = (fault: ShootFault): boolean =>
      (fault.namespace ?? namespace) === namespace &&
      (fault.name ?? name) === name &&
      (fault.operations ?? [type]).includes(type);
    return this.faults.take(fits)?.effect ?? tokenFaultOf(this.parts, shoot);
  }

  /** Performs the next task of the flow: it goes on, fails or completes. */
  #advance(shoot: Shoot, flow: Flow, atRest: Simulation): void {
    const { type, step, fault } = flow;
    const tasks = tasksOf(type);
    const task = tasks[step];
    if (task === undefined) this.#finish(shoot, flow, atRest);
    else if (fault !== null && fault.stuck !== true && step === tasks.length - 1)
      this.#fail(shoot, type, task, fault, atRest);
    else {
      const isUp = type !== 'Delete' && task.progress >= API_SERVER_UP;
      const lastOperation = this.#operation(type, 'Processing', task.progress, task.name);
      const change = { ...(isUp ? { advertisedAddresses: this.addresses } : {}), lastOperation };
      this.#put(shoot, change, { ...atRest, flow: { ...flow, step: step + 1 } });
    }
  }

  #fail(shoot: Shoot, type: OperationType, task: Task, fault: FlowFault, atRest: Simulation): void {
    const { codes = [], message = 'the flow was made to fail' } = fault;
    const isFinal = codes.some((code) => finalCodes.has(code));
    const description = `task ${JSON.stringify(task.name)} failed: ${message}`;
    const words = `Flow encountered task errors: [${description}]`;
    const change: StatusChange = {
      lastErrors: [{ description, taskID: task.name, codes, lastUpdateTime: this.#now() }],
      lastOperation: this.#operation(type, isFinal ? 'Failed' : 'Error', task.progress, words),
      ...(isFinal ? { retryCycleStartTime: undefined } : {}),
    };
    this.#put(shoot, change, atRest);
  }

  #finish(shoot: Shoot, { type, spec }: Flow, atRest: Simulation): void {
    const { namespace = '', name = '', finalizers = [] } = shoot.metadata;
    const lastOperation = this.#operation(type, 'Succeeded', 100, `${type} of Shoot cluster has been successful.`);
    const change: StatusChange = { lastOperation, lastErrors: undefined, retryCycleStartTime: undefined };
    if (type === 'Delete') {
      // Gardener takes away its own finalizer only.
      const others = finalizers.filter((each) => each !== FINALIZER);
      if (others.length === 0) this.parts.store.remove(shoots.plural, namespace, name);
      else this.#put({ ...shoot, metadata: { ...shoot.metadata, finalizers: others } }, change, atRest);
      return;
    }
    const hibernated = wantsHibernation(spec);
    // Nothing is lost if the process is killed after it: the flow then does its last step again.
    settleCluster(this.parts, { ...shoot, spec, status: { ...shoot.status, hibernated } });
    const health = uncheckedHealth(shoot.status, this.#now());
    this.#put(shoot, { ...change, hibernated, ...health }, { ...atRest, careDue: true });
  }

  /** @param simulation undefined keeps it */
  #put(shoot: Shoot, change: StatusChange, simulation?: Simulation): void {
    this.parts.store.put(shoots.plural, { ...shoot, status: { ...shoot.status, ...change } }, simulation);
  }

  #operation = (
    type: OperationType,
    state: LastOperation['state'],
    progress: number,
    description: string,
  ): LastOperation => ({ type, state, progress, description, lastUpdateTime: this.#now() });

  #now = (): string => timestamp(this.parts.clock.now());
}
