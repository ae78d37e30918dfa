import { type OperationType, type Shoot, wantsHibernation } from '../kinds/shoot/shoot.js';

/** How long each kind of work takes, in milliseconds. */
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

export interface Task {
  /** Percent when the task has begun. */
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

/** The task that asks the provider for something first, and so finds out about its token. */
export const firstProviderTask = (type: OperationType): string => {
  if (type === 'Delete') return 'Waiting until shoot infrastructure has been destroyed';
  return type === 'Migrate' ? 'Migrating extension resources' : INFRASTRUCTURE;
};

/** The task at which a flow fails when nothing else is said. */
export const usualFaultyTask = (type: OperationType): string =>
  type === 'Create' || type === 'Reconcile' || type === 'Restore' ? WORKERS : firstProviderTask(type);

/** Milliseconds that a whole flow takes. */
export function durationOf(type: OperationType, { spec, status }: Shoot, speed: GardenSpeed): number {
  if (type === 'Create') return speed.createMs;
  if (type === 'Delete') return speed.deleteMs;
  if (wantsHibernation(spec) === status.hibernated) return speed.reconcileMs;
  return wantsHibernation(spec) ? speed.hibernateMs : speed.wakeMs;
}
