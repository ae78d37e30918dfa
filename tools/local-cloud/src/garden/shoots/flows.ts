import type { GardenSpeed } from '../settings.js';
import { type OperationType, type Shoot, type Simulation, wantsHibernation } from './shoot.js';

/** The next step of a Shoot, and its delay in milliseconds. */
export type Step = { readonly afterMs: number } & (
  | { readonly what: 'schedule' | 'advance' | 'check' }
  | { readonly what: 'start'; readonly type: OperationType }
);

/** Shares of a flow's duration. */
const START_SHARE = 0.05;
const RETRY_SHARE = 0.5;
const CARE_SHARE = 0.25;

export interface Task {
  /** Progress at the start of the task, in percent. */
  readonly progress: number;
  readonly name: string;
}

/** From this progress on there is an API server. */
export const API_SERVER_UP = 34;
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
export const tasksOf = (type: OperationType): readonly Task[] => (type === 'Delete' ? deleteTasks : reconcileTasks);

/** Codes that Gardener does not retry: the operation stays Failed until a user acts. Others, or none, are retried. */
export const finalCodes = new Set([
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
