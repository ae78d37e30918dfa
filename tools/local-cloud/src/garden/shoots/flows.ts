import { randomUUID } from 'node:crypto';
import { timestamp } from '../../clock.js';
import type { GardenSpeed } from '../settings.js';
import { uncheckedHealth } from './health.js';
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

/** The next step of a Shoot, and its delay in milliseconds. */
export type Step = { readonly afterMs: number } & (
  | { readonly what: 'schedule' | 'advance' | 'check' }
  | { readonly what: 'start'; readonly type: OperationType }
);

/** A Shoot after a step. */
export interface Changed {
  readonly shoot: Shoot;
  readonly simulation: Simulation;
}

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
  { progress: API_SERVER_UP, name: 'Waiting until Kubernetes API server rolled out' },
  { progress: 61, name: 'Waiting until shoot worker resource has been reconciled' },
  { progress: 82, name: 'Waiting until shoot worker nodes have been reconciled' },
];
const deleteTasks: readonly Task[] = [
  { progress: 18, name: 'Cleaning shoot namespaces' },
  { progress: 47, name: 'Waiting until shoot worker nodes have been terminated' },
  { progress: 71, name: 'Waiting until shoot infrastructure has been destroyed' },
];
/** The task that fails, if one does: the last one. */
const tasksOf = (type: OperationType): readonly Task[] => (type === 'Delete' ? deleteTasks : reconcileTasks);

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

/** @returns null if nothing is due */
export function nextStep(shoot: Shoot, { flow, careDue }: Simulation, speed: GardenSpeed): Step | null {
  if (flow !== undefined) {
    const tasks = tasksOf(flow.type).length;
    if (flow.fault?.stuck === true && flow.step >= tasks / 2) return null;
    return { what: 'advance', afterMs: (durationOf(flow.type, shoot, speed) * (1 - START_SHARE)) / tasks };
  }
  const { metadata, spec, status } = shoot;
  if (spec.seedName === undefined && metadata.deletionTimestamp === undefined) {
    return { what: 'schedule', afterMs: speed.createMs * START_SHARE };
  }
  const type = nextFlow(shoot);
  if (type !== null) {
    const share = status.lastOperation?.state === 'Error' ? RETRY_SHARE : START_SHARE;
    return { what: 'start', type, afterMs: durationOf(type, shoot, speed) * share };
  }
  return careDue === true ? { what: 'check', afterMs: speed.reconcileMs * CARE_SHARE } : null;
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

/** Binds a Shoot to a seed. */
export const scheduled = (shoot: Shoot): Shoot => ({
  ...shoot,
  metadata: { ...shoot.metadata, generation: (shoot.metadata.generation ?? 1) + 1 },
  spec: { ...shoot.spec, seedName: 'seed-eu' },
});

const operation = (
  type: OperationType,
  state: LastOperation['state'],
  progress: number,
  description: string,
  nowMs: number,
): LastOperation => ({ type, state, progress, description, lastUpdateTime: timestamp(nowMs) });

const withStatus = (shoot: Shoot, change: Partial<ShootStatus>): Shoot => ({
  ...shoot,
  status: { ...shoot.status, ...change },
});

/** Starts a flow with the current specification. */
export function startFlow(
  { shoot, simulation }: Changed,
  { type, fault, project }: { type: OperationType; fault: FlowFault | null; project: string },
  nowMs: number,
): Changed {
  const { metadata, spec, status } = shoot;
  const { generation, name, finalizers = [] } = metadata;
  const isRetry = status.lastOperation?.state === 'Error' && status.observedGeneration === generation;
  const next = withStatus(shoot, {
    uid: status.uid || randomUUID(),
    technicalID: status.technicalID || `shoot--${project}--${name}`,
    ...(spec.seedName === undefined ? {} : { seedName: spec.seedName }),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    retryCycleStartTime: (isRetry ? status.retryCycleStartTime : undefined) ?? timestamp(nowMs),
    lastOperation: operation(type, 'Processing', 0, `${type} of Shoot cluster initialized.`, nowMs),
  });
  const ours = { ...metadata, finalizers: [...new Set([...finalizers, FINALIZER])] };
  return { shoot: { ...next, metadata: ours }, simulation: { ...simulation, flow: { type, step: 0, spec, fault } } };
}

/** Performs the next task of the flow: it goes on, fails or completes. @returns null if the Shoot is gone */
export function advanceFlow(
  { shoot, simulation }: Changed,
  addresses: NonNullable<ShootStatus['advertisedAddresses']>,
  nowMs: number,
): Changed | null {
  const { flow, ...atRest } = simulation;
  if (flow === undefined) return { shoot, simulation };
  const { type, step, fault } = flow;
  const tasks = tasksOf(type);
  const task = tasks[step];
  if (task === undefined) return finishFlow(shoot, atRest, flow, nowMs);
  if (fault !== null && fault.stuck !== true && step === tasks.length - 1) {
    return { shoot: failed(shoot, type, task, fault, nowMs), simulation: atRest };
  }
  const isUp = type !== 'Delete' && task.progress >= API_SERVER_UP;
  const next = withStatus(shoot, {
    ...(isUp ? { advertisedAddresses: addresses } : {}),
    lastOperation: operation(type, 'Processing', task.progress, task.name, nowMs),
  });
  return { shoot: next, simulation: { ...simulation, flow: { ...flow, step: step + 1 } } };
}

function failed(shoot: Shoot, type: OperationType, task: Task, fault: FlowFault, nowMs: number): Shoot {
  const { codes = [], message = 'the flow was made to fail' } = fault;
  const isFinal = codes.some((code) => finalCodes.has(code));
  const description = `task ${JSON.stringify(task.name)} failed: ${message}`;
  const words = `Flow encountered task errors: [${description}]`;
  const next = withStatus(shoot, {
    lastErrors: [{ description, taskID: task.name, codes, lastUpdateTime: timestamp(nowMs) }],
    lastOperation: operation(type, isFinal ? 'Failed' : 'Error', task.progress, words, nowMs),
  });
  if (isFinal) delete next.status.retryCycleStartTime;
  return next;
}

function finishFlow(shoot: Shoot, simulation: Simulation, { type, spec }: Flow, nowMs: number): Changed | null {
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
  const health = uncheckedHealth(shoot.status, timestamp(nowMs));
  return {
    shoot: withStatus(next, { hibernated: wantsHibernation(spec), ...health }),
    simulation: { ...simulation, careDue: true },
  };
}
