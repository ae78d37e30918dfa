import { createHash } from 'node:crypto';
import { timestamp } from '../../clock.js';
import type { GardenSpeed } from '../settings.js';
import { checkedHealth, nodeTroubleOf, uncheckedHealth } from './health.js';
import {
  type Flow,
  type FlowFault,
  type LastOperation,
  type Machine,
  type OperationType,
  type Shoot,
  type ShootSpec,
  type ShootStatus,
  type Simulation,
  wantsHibernation,
  workersOf,
} from './shoot.js';

/** The next step of a Shoot. */
export interface DueStep {
  readonly afterMs: number;
  /** Null for a step that starts no flow. */
  readonly starts: OperationType | null;
  /** @returns null if the Shoot is gone */
  perform(world: World): Changed | null;
}

/** What a step needs apart from the Shoot. */
export interface World {
  readonly nowMs: number;
  readonly project: string;
  /** The UID of a Shoot that has none yet. */
  readonly newUid: string;
  /** The fault of a flow that starts now. */
  readonly fault: FlowFault | null;
  /** Addresses of the Shoot's API server. */
  readonly addresses: readonly { name: string; url: string }[];
}

interface Changed {
  readonly shoot: Shoot;
  readonly simulation: Simulation;
}

const SEED = 'seed-eu';
const FINALIZER = 'gardener';
/** Shares of a flow's duration. */
const START_SHARE = 0.05;
const RETRY_SHARE = 0.5;
const CARE_SHARE = 0.25;

interface Task {
  /** Progress at the start of the task, in percent. */
  readonly progress: number;
  readonly name: string;
}

const API_SERVER_UP = 34;
const reconcileTasks: readonly Task[] = [
  { progress: 2, name: 'Deploying Shoot namespace in Seed' },
  { progress: 15, name: 'Waiting until shoot infrastructure has been reconciled' },
  { progress: API_SERVER_UP, name: 'Waiting until Kubernetes API server rolled out' },
  { progress: 61, name: 'Waiting until shoot worker resource has been reconciled' },
  { progress: 82, name: 'Waiting until shoot worker nodes have been reconciled' },
  { progress: 96, name: 'Deploying shoot system components' },
];
const deleteTasks: readonly Task[] = [
  { progress: 3, name: 'Ensuring that ShootState exists' },
  { progress: 18, name: 'Cleaning shoot namespaces' },
  { progress: 47, name: 'Waiting until shoot worker nodes have been terminated' },
  { progress: 71, name: 'Waiting until shoot infrastructure has been destroyed' },
  { progress: 93, name: 'Waiting until shoot namespace in Seed has been deleted' },
];

const tasksOf = (type: OperationType): readonly Task[] => (type === 'Delete' ? deleteTasks : reconcileTasks);
const FAULTY_STEP: Readonly<Record<OperationType, number>> = { Create: 4, Reconcile: 4, Delete: 3 };

/** Codes that Gardener does not retry: the operation stays Failed until a user acts. Others, or none, are retried. */
const finalCodes = new Set([
  'ERR_INFRA_UNAUTHENTICATED',
  'ERR_INFRA_UNAUTHORIZED',
  'ERR_INFRA_QUOTA_EXCEEDED',
  'ERR_INFRA_RATE_LIMITS_EXCEEDED',
  'ERR_INFRA_DEPENDENCIES',
  'ERR_CONFIGURATION_PROBLEM',
  'ERR_PROBLEMATIC_WEBHOOK',
]);

/** Chooses the next step of a Shoot and its delay in milliseconds; null if nothing is due. */
export function decideStep(shoot: Shoot, simulation: Simulation, speed: GardenSpeed): DueStep | null {
  const { flow, careDue } = simulation;
  if (flow !== undefined) {
    const tasks = tasksOf(flow.type).length;
    if (flow.fault?.stuck === true && flow.step >= tasks / 2) return null;
    const afterMs = (durationOf(flow.type, shoot, speed) * (1 - START_SHARE)) / tasks;
    return { afterMs, starts: null, perform: (world) => advanceFlow(shoot, simulation, flow, world) };
  }
  const { metadata, spec, status } = shoot;
  if (spec.seedName === undefined && metadata.deletionTimestamp === undefined) {
    const perform = () => ({ shoot: scheduled(shoot), simulation });
    return { afterMs: speed.createMs * START_SHARE, starts: null, perform };
  }
  const type = nextFlow(shoot);
  if (type !== null) {
    const share = status.lastOperation?.state === 'Error' ? RETRY_SHARE : START_SHARE;
    const afterMs = durationOf(type, shoot, speed) * share;
    return { afterMs, starts: type, perform: (world) => startFlow(shoot, simulation, type, world) };
  }
  if (careDue !== true) return null;
  const perform = (world: World) => checkHealth(shoot, simulation, world);
  return { afterMs: speed.reconcileMs * CARE_SHARE, starts: null, perform };
}

function nextFlow({ metadata, status: { lastOperation, observedGeneration } }: Shoot): OperationType | null {
  const isDue =
    metadata.generation !== observedGeneration || ['Error', 'Processing'].includes(lastOperation?.state ?? '');
  if (metadata.deletionTimestamp !== undefined) return lastOperation?.type !== 'Delete' || isDue ? 'Delete' : null;
  if (lastOperation === undefined) return 'Create';
  if (!isDue) return null;
  return lastOperation.type === 'Create' && lastOperation.state !== 'Succeeded' ? 'Create' : 'Reconcile';
}

function durationOf(type: OperationType, { spec, status }: Shoot, speed: GardenSpeed): number {
  if (type === 'Create') return speed.createMs;
  if (type === 'Delete') return speed.deleteMs;
  if (wantsHibernation(spec) === status.hibernated) return speed.reconcileMs;
  return wantsHibernation(spec) ? speed.hibernateMs : speed.wakeMs;
}

const scheduled = (shoot: Shoot): Shoot => ({
  ...shoot,
  metadata: { ...shoot.metadata, generation: (shoot.metadata.generation ?? 1) + 1 },
  spec: { ...shoot.spec, seedName: SEED },
});

const operation = (
  type: OperationType,
  state: LastOperation['state'],
  progress: number,
  description: string,
  nowMs: number,
) => ({ type, state, progress, description, lastUpdateTime: timestamp(nowMs) });

const withStatus = (shoot: Shoot, change: Partial<ShootStatus>): Shoot => ({
  ...shoot,
  status: { ...shoot.status, ...change },
});

/** Starts a flow with the current specification. */
function startFlow(shoot: Shoot, simulation: Simulation, type: OperationType, world: World): Changed {
  const { metadata, spec, status } = shoot;
  const { generation, name, finalizers = [] } = metadata;
  const isRetry = status.lastOperation?.state === 'Error' && status.observedGeneration === generation;
  const next = withStatus(shoot, {
    uid: status.uid || world.newUid,
    technicalID: status.technicalID || `shoot--${world.project}--${name}`,
    ...(spec.seedName === undefined ? {} : { seedName: spec.seedName }),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    retryCycleStartTime: (isRetry ? status.retryCycleStartTime : undefined) ?? timestamp(world.nowMs),
    lastOperation: operation(type, 'Processing', 0, `${type} of Shoot cluster initialized.`, world.nowMs),
  });
  const ours = { ...metadata, finalizers: [...new Set([...finalizers, FINALIZER])] };
  return {
    shoot: { ...next, metadata: ours },
    simulation: { ...simulation, flow: { type, step: 0, spec, fault: world.fault } },
  };
}

/** Performs the next task of the flow: it goes on, fails or completes. */
function advanceFlow(shoot: Shoot, simulation: Simulation, flow: Flow, world: World): Changed | null {
  const { type, step, fault } = flow;
  const task = tasksOf(type)[step];
  const { flow: _, ...atRest } = simulation;
  if (task === undefined) return finishFlow(shoot, atRest, flow, world);
  if (fault !== null && fault.stuck !== true && step === FAULTY_STEP[type]) {
    return { shoot: failed(shoot, type, task, fault, world.nowMs), simulation: atRest };
  }
  const isUp = type !== 'Delete' && task.progress >= API_SERVER_UP;
  const next = withStatus(shoot, {
    ...(isUp ? { advertisedAddresses: [...world.addresses] } : {}),
    lastOperation: operation(type, 'Processing', task.progress, task.name, world.nowMs),
  });
  return { shoot: next, simulation: { ...simulation, flow: { ...flow, step: step + 1 } } };
}

function failed(shoot: Shoot, type: OperationType, task: Task, fault: FlowFault, nowMs: number): Shoot {
  const codes = [...(fault.codes ?? [])];
  const isFinal = codes.some((code) => finalCodes.has(code));
  const description = `task ${JSON.stringify(task.name)} failed: ${fault.message ?? 'the flow was made to fail'}`;
  const more = codes.length === 0 ? {} : { codes };
  const next = withStatus(shoot, {
    lastErrors: [{ description, taskID: task.name, ...more, lastUpdateTime: timestamp(nowMs) }],
    lastOperation: operation(
      type,
      isFinal ? 'Failed' : 'Error',
      task.progress,
      `Flow encountered task errors: [${description}]`,
      nowMs,
    ),
  });
  if (isFinal) delete next.status.retryCycleStartTime;
  return next;
}

function finishFlow(shoot: Shoot, simulation: Simulation, { type, spec }: Flow, { nowMs }: World): Changed | null {
  const lastOperation = operation(type, 'Succeeded', 100, `${type} of Shoot cluster has been successful.`, nowMs);
  const { lastErrors: _, retryCycleStartTime: __, ...status } = shoot.status;
  const next: Shoot = { ...shoot, status: { ...status, lastOperation } };
  if (type === 'Delete') {
    // Gardener takes away its own finalizer only.
    const finalizers = (shoot.metadata.finalizers ?? []).filter((name) => name !== FINALIZER);
    return finalizers.length === 0
      ? null
      : { shoot: { ...next, metadata: { ...shoot.metadata, finalizers } }, simulation };
  }
  const hibernated = wantsHibernation(spec);
  const at = timestamp(nowMs);
  const before = simulation.reconciled?.machines ?? [];
  const machines = hibernated ? [] : machinesFor(shoot.status, spec, before, at);
  return {
    shoot: withStatus(next, { hibernated, ...uncheckedHealth(shoot.status, at) }),
    simulation: { ...simulation, careDue: true, reconciled: { spec, machines } },
  };
}

function checkHealth(shoot: Shoot, { careDue: _, ...simulation }: Simulation, { nowMs }: World): Changed {
  const trouble = nodeTroubleOf(shoot.spec, simulation);
  return { shoot: withStatus(shoot, checkedHealth(shoot.status, timestamp(nowMs), trouble)), simulation };
}

const suffixOf = (...parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 5);

/** `minimum` machines of each pool in each of its zones. Another minor version or machine makes others, of other names. */
function machinesFor(
  { technicalID, uid }: ShootStatus,
  spec: ShootSpec,
  before: readonly Machine[],
  at: string,
): Machine[] {
  const minor = spec.kubernetes.version.split('.', 2);
  return workersOf(spec).flatMap(({ name: pool, zones = [], minimum, machine, providerConfig }) =>
    zones.flatMap((zone) =>
      Array.from({ length: minimum }, (_, index): Machine => {
        const template = suffixOf(minor, machine, providerConfig);
        const name = `${technicalID}-${pool}-${zone}-${template}-${suffixOf(uid, pool, zone, template, index)}`;
        return before.find((known) => known.name === name) ?? { name, pool, createdAt: at };
      }),
    ),
  );
}
