import type { GardenSpeed } from '../settings.js';
import type { OperationType, Shoot } from './shoot.js';

/** What is to be done with a Shoot next, and its delay in milliseconds. A type is that of a flow. */
interface Due {
  readonly what: 'schedule' | 'check' | OperationType;
  readonly afterMs: number;
}

/** What goes wrong with a flow. */
export interface FlowFault {
  /** The flow stops half-way and stays Processing until the faults are cleared. */
  readonly stuck?: boolean;
  /** `ERR_…`. Gardener retries errors without a code. */
  readonly codes?: readonly string[];
  readonly message?: string;
}

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

/** How long each task takes, and the end of the flow, in milliseconds. */
export const taskMsOf = (type: OperationType, speed: GardenSpeed): number =>
  (durationOf(type, speed) * (1 - START_SHARE)) / tasksOf(type).length;

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

/** @param isCheckDue whether its health is to be checked @returns null if nothing is due */
export function dueOf(shoot: Shoot, isCheckDue: boolean, speed: GardenSpeed): Due | null {
  const { metadata, spec, status } = shoot;
  if (spec.seedName === undefined && metadata.deletionTimestamp === undefined)
    return { what: 'schedule', afterMs: speed.createMs * START_SHARE };
  const type = nextFlow(shoot);
  if (type !== null) {
    const share = status.lastOperation?.state === 'Error' ? RETRY_SHARE : START_SHARE;
    return { what: type, afterMs: durationOf(type, speed) * share };
  }
  return isCheckDue ? { what: 'check', afterMs: speed.reconcileMs * CARE_SHARE } : null;
}

/** A flow that ended with the process starts again. */
function nextFlow({ metadata, status: { lastOperation, observedGeneration } }: Shoot): OperationType | null {
  const isDue =
    metadata.generation !== observedGeneration || ['Error', 'Processing'].includes(lastOperation?.state ?? '');
  if (metadata.deletionTimestamp !== undefined) return lastOperation?.type !== 'Delete' || isDue ? 'Delete' : null;
  if (lastOperation === undefined) return 'Create';
  if (!isDue) return null;
  return lastOperation.type === 'Create' && lastOperation.state !== 'Succeeded' ? 'Create' : 'Reconcile';
}

const durationOf = (type: OperationType, { createMs, reconcileMs, deleteMs }: GardenSpeed): number =>
  ({ Create: createMs, Reconcile: reconcileMs, Delete: deleteMs })[type];
