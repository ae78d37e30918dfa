import { type OperationType, type Shoot, wantsHibernation } from '../kinds/shoot/shoot.js';

/** Duration of each kind of operation, in milliseconds. */
export interface GardenSpeed {
  readonly createMs: number;
  readonly reconcileMs: number;
  readonly hibernateMs: number;
  readonly wakeMs: number;
  readonly deleteMs: number;
}

export const defaultSpeed: GardenSpeed = {
  createMs: 8000,
  reconcileMs: 4000,
  hibernateMs: 4000,
  wakeMs: 4000,
  deleteMs: 4000,
};

interface Task {
  /** Progress at the start of the task, in percent. */
  readonly progress: number;
  readonly name: string;
}

const INFRASTRUCTURE = 'Waiting until shoot infrastructure has been reconciled';
const WORKERS = 'Waiting until shoot worker nodes have been reconciled';

const reconcileTasks: readonly Task[] = [
  { progress: 2, name: 'Deploying Shoot namespace in Seed' },
  { progress: 15, name: INFRASTRUCTURE },
  { progress: 34, name: 'Waiting until Kubernetes API server rolled out' },
  { progress: 61, name: 'Waiting until shoot worker resource has been reconciled' },
  { progress: 82, name: WORKERS },
  { progress: 96, name: 'Deploying shoot system components' },
];

const deleteTasks: readonly Task[] = [
  { progress: 3, name: 'Ensuring that ShootState exists' },
  { progress: 18, name: 'Cleaning shoot namespaces' },
  { progress: 47, name: 'Waiting until shoot worker nodes have been terminated' },
  { progress: 71, name: 'Waiting until shoot infrastructure has been destroyed' },
  { progress: 93, name: 'Waiting until shoot namespace in Seed has been deleted' },
];

const migrateTasks: readonly Task[] = [
  { progress: 11, name: 'Ensuring that ShootState exists' },
  { progress: 55, name: 'Migrating extension resources' },
  { progress: 87, name: 'Waiting until shoot namespace in Seed has been deleted' },
];

export function tasksOf(type: OperationType): readonly Task[] {
  if (type === 'Delete') return deleteTasks;
  return type === 'Migrate' ? migrateTasks : reconcileTasks;
}

/** The first task that calls the provider, and so detects an invalid token. */
export const firstProviderTask = (type: OperationType): string => {
  if (type === 'Delete') return 'Waiting until shoot infrastructure has been destroyed';
  return type === 'Migrate' ? 'Migrating extension resources' : INFRASTRUCTURE;
};

/** The task at which a flow fails by default. */
export const usualFaultyTask = (type: OperationType): string =>
  type === 'Create' || type === 'Reconcile' || type === 'Restore' ? WORKERS : firstProviderTask(type);

/** Duration of a whole flow, in milliseconds. */
export function durationOf(type: OperationType, { spec, status }: Shoot, speed: GardenSpeed): number {
  if (type === 'Create') return speed.createMs;
  if (type === 'Delete') return speed.deleteMs;
  if (wantsHibernation(spec) === status.hibernated) return speed.reconcileMs;
  return wantsHibernation(spec) ? speed.hibernateMs : speed.wakeMs;
}

/** Codes that Gardener does not retry: the operation stays Failed until a user acts. */
const final = new Set([
  'ERR_INFRA_UNAUTHENTICATED',
  'ERR_INFRA_UNAUTHORIZED',
  'ERR_INFRA_QUOTA_EXCEEDED',
  'ERR_INFRA_RATE_LIMITS_EXCEEDED',
  'ERR_INFRA_DEPENDENCIES',
  'ERR_CONFIGURATION_PROBLEM',
  'ERR_PROBLEMATIC_WEBHOOK',
]);

/** Errors with any other code, or none, are retried. */
export const isFinal = (codes: readonly string[]): boolean => codes.some((code) => final.has(code));
