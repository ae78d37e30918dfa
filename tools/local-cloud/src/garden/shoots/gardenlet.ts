import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { timestamp } from '../../clock.js';
import { HeldRules } from '../../faults/fault-rules.js';
import { nodes, shoots } from '../../kube/kinds.js';
import { type Held, inGarden, type Ref, shootOf } from '../../kube/store.js';
import { projectOf } from '../admission.js';
import { nodesOf, settleCluster } from '../nodes.js';
import type { GardenParts } from '../parts.js';
import { API_SERVER_UP, dueOf, type FlowFault, finalCodes, type Task, taskMsOf, tasksOf } from './flows.js';
import { checkedHealth, isCheckDue, uncheckedHealth } from './health.js';
import { tokenFaultOf } from './provider.js';
import {
  type LastOperation,
  type OperationType,
  type Shoot,
  type ShootSpec,
  type ShootStatus,
  wantsHibernation,
} from './shoot.js';

/** Fault for the flows of any Shoot. */
export interface ShootFault {
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
  /** What ends the work on a Shoot, by its uid. */
  readonly #works = new Map<string, AbortController>();
  readonly #unsubscribe: () => void;
  #cleared = Promise.withResolvers<void>();

  constructor(
    private readonly parts: GardenParts,
    private readonly addresses: NonNullable<ShootStatus['advertisedAddresses']>,
  ) {
    for (const held of parts.store.list(shoots)) this.#consider(held);
    this.#unsubscribe = parts.store.subscribe(({ type, held }) => {
      const shoot = held.kind === nodes ? shootOf(parts.store, held.cluster) : held;
      if (shoot?.kind !== shoots) return;
      if (held === shoot && type === 'DELETED') this.#end(shoot.uid);
      else this.#consider(shoot);
    });
  }

  close(): void {
    this.#unsubscribe();
    for (const uid of [...this.#works.keys()]) this.#end(uid);
  }

  /** Removes all faults. Stuck flows continue. */
  clearFaults(): void {
    this.faults.clear();
    this.#cleared.resolve();
    this.#cleared = Promise.withResolvers();
  }

  #end(uid: string): void {
    this.#works.get(uid)?.abort();
    this.#works.delete(uid);
  }

  #consider({ uid, namespace, name }: Held): void {
    const ref = inGarden(shoots, namespace, name);
    if (this.#works.has(uid) || this.#dueOf(ref) === null) return;
    const end = new AbortController();
    this.#works.set(uid, end);
    this.#work(ref, uid, end.signal).catch((error: unknown) => {
      if (!end.signal.aborted) throw error;
    });
  }

  #dueOf(ref: Ref<Shoot>) {
    const { store, settings } = this.parts;
    const shoot = store.find(ref)?.object;
    return shoot === undefined ? null : dueOf(shoot, isCheckDue(shoot, nodesOf(store, ref)), settings);
  }

  /** Does one thing after the other until nothing is due. */
  async #work(ref: Ref<Shoot>, uid: string, signal: AbortSignal): Promise<void> {
    for (let due = this.#dueOf(ref); due !== null; due = this.#dueOf(ref)) {
      await wait(due.afterMs, undefined, { signal });
      // The Shoot may have changed meanwhile.
      const what = this.#dueOf(ref)?.what;
      if (what === 'schedule') this.#schedule(ref);
      else if (what === 'check') this.#check(ref);
      else if (what !== undefined) await this.#flow(ref, what, signal);
    }
    this.#works.delete(uid);
  }

  /** Binds a Shoot to a seed. */
  #schedule(ref: Ref<Shoot>): void {
    const { metadata, spec } = this.#read(ref);
    const generation = (metadata.generation ?? 1) + 1;
    this.#put(ref, {}, { metadata: { ...metadata, generation }, spec: { ...spec, seedName: 'seed-eu' } });
  }

  #check(ref: Ref<Shoot>): void {
    this.#put(ref, checkedHealth(this.#read(ref), nodesOf(this.parts.store, ref)));
  }

  /** Performs the tasks of a flow with the specification from its start. A restart of the process starts it again. */
  async #flow(ref: Ref<Shoot>, type: OperationType, signal: AbortSignal): Promise<void> {
    const shoot = this.#read(ref);
    const tasks = tasksOf(type);
    const pause = () => wait(taskMsOf(type, this.parts.settings), undefined, { signal });
    const injected = this.faults.take(({ operations }) => operations?.includes(type) ?? true);
    const cleared = this.#cleared.promise;
    let fault = injected?.effect ?? tokenFaultOf(this.parts, shoot);
    this.#start(ref, type);
    for (const [index, task] of tasks.entries()) {
      if (fault?.stuck === true && index >= tasks.length / 2) {
        await cleared;
        fault = null;
      }
      await pause();
      if (fault !== null && fault.stuck !== true && index === tasks.length - 1)
        return this.#fail(ref, type, task, fault);
      this.#advance(ref, type, task);
    }
    await pause();
    if (type === 'Delete') this.#finishDeletion(ref);
    else this.#finish(ref, type, shoot.spec);
  }

  #start(ref: Ref<Shoot>, type: OperationType): void {
    const { metadata, spec, status } = this.#read(ref);
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
    this.#put(ref, change, { metadata: { ...metadata, finalizers: [...new Set([...finalizers, FINALIZER])] } });
  }

  #advance(ref: Ref<Shoot>, type: OperationType, { progress, name }: Task): void {
    const isUp = type !== 'Delete' && progress >= API_SERVER_UP;
    const lastOperation = this.#operation(type, 'Processing', progress, name);
    this.#put(ref, { ...(isUp ? { advertisedAddresses: this.addresses } : {}), lastOperation });
  }

  #fail(ref: Ref<Shoot>, type: OperationType, { progress, name }: Task, fault: FlowFault): void {
    const { codes = [], message = 'the flow was made to fail' } = fault;
    const isFinal = codes.some((code) => finalCodes.has(code));
    const description = `task ${JSON.stringify(name)} failed: ${message}`;
    const words = `Flow encountered task errors: [${description}]`;
    this.#put(ref, {
      lastErrors: [{ description, codes, lastUpdateTime: this.#now() }],
      lastOperation: this.#operation(type, isFinal ? 'Failed' : 'Error', progress, words),
      ...(isFinal ? { retryCycleStartTime: undefined } : {}),
    });
  }

  #finish(ref: Ref<Shoot>, type: OperationType, spec: ShootSpec): void {
    const shoot = this.#read(ref);
    const hibernated = wantsHibernation(spec);
    // Nothing is lost if the process is killed after it: the flow then starts again.
    settleCluster(this.parts, ref, { ...shoot, spec, status: { ...shoot.status, hibernated } });
    this.#put(ref, { ...this.#success(type), hibernated, ...uncheckedHealth(shoot.status) });
  }

  /** Gardener takes away its own finalizer only. */
  #finishDeletion(ref: Ref<Shoot>): void {
    const { metadata } = this.#read(ref);
    const finalizers = (metadata.finalizers ?? []).filter((each) => each !== FINALIZER);
    if (finalizers.length === 0) this.parts.store.remove(ref);
    else this.#put(ref, this.#success('Delete'), { metadata: { ...metadata, finalizers } });
  }

  #read = (ref: Ref<Shoot>): Shoot => this.parts.store.get(ref).object;

  #put(ref: Ref<Shoot>, change: StatusChange, fields: Partial<Pick<Shoot, 'metadata' | 'spec'>> = {}): void {
    const shoot = this.#read(ref);
    this.parts.store.put(ref, { ...shoot, ...fields, status: { ...shoot.status, ...change } as ShootStatus });
  }

  #success = (type: OperationType): StatusChange => ({
    lastOperation: this.#operation(type, 'Succeeded', 100, `${type} of Shoot cluster has been successful.`),
    lastErrors: undefined,
    retryCycleStartTime: undefined,
  });

  #operation = (
    type: OperationType,
    state: LastOperation['state'],
    progress: number,
    description: string,
  ): LastOperation => ({ type, state, progress, description, lastUpdateTime: this.#now() });

  #now = (): string => timestamp(this.parts.clock.now());
}
