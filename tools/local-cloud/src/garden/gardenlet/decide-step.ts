import type { OperationType, Shoot } from '../kinds/shoot/shoot.js';
import { durationOf, type GardenSpeed, tasksOf } from './flow-plan.js';
import type { Simulation } from './simulation.js';

/** The next step of a Shoot. */
export type Step =
  | { readonly do: 'schedule' }
  | { readonly do: 'start'; readonly type: OperationType }
  | { readonly do: 'advance' }
  | { readonly do: 'check health' };

export interface DueStep {
  readonly step: Step;
  readonly afterMs: number;
}

/** Shares of a flow's duration. */
const START_SHARE = 0.05;
const RETRY_SHARE = 0.5;
const CARE_SHARE = 0.25;

/** Chooses the next step of a Shoot and its delay; null if nothing is due. Pure. */
export function decideStep(shoot: Shoot, simulation: Simulation, speed: GardenSpeed): DueStep | null {
  const { flow } = simulation;
  if (flow !== undefined) {
    const tasks = tasksOf(flow.type);
    if (flow.fault?.stuck === true && flow.step >= tasks.length / 2) return null;
    return {
      step: { do: 'advance' },
      afterMs: (durationOf(flow.type, shoot, speed) * (1 - START_SHARE)) / tasks.length,
    };
  }
  const isDeleted = shoot.metadata.deletionTimestamp !== undefined;
  if (shoot.spec.seedName === undefined && !isDeleted) {
    return { step: { do: 'schedule' }, afterMs: speed.createMs * START_SHARE };
  }
  const type = nextFlow(shoot);
  if (type !== null) {
    const isRetry = shoot.status.lastOperation?.state === 'Error';
    const afterMs = durationOf(type, shoot, speed) * (isRetry ? RETRY_SHARE : START_SHARE);
    return { step: { do: 'start', type }, afterMs };
  }
  if (simulation.careDue === true) return { step: { do: 'check health' }, afterMs: speed.reconcileMs * CARE_SHARE };
  return null;
}

function nextFlow({ metadata, spec, status }: Shoot): OperationType | null {
  const { lastOperation, observedGeneration } = status;
  const isNew = metadata.generation !== observedGeneration;
  const runs = isNew || lastOperation?.state === 'Error' || lastOperation?.state === 'Processing';
  if (metadata.deletionTimestamp !== undefined) {
    return lastOperation?.type !== 'Delete' || runs ? 'Delete' : null;
  }
  if (status.seedName === undefined && lastOperation?.type === 'Migrate') return 'Restore';
  if (status.seedName !== undefined && status.seedName !== spec.seedName) {
    return lastOperation?.type !== 'Migrate' || runs ? 'Migrate' : null;
  }
  if (lastOperation === undefined) return 'Create';
  if (!runs) return null;
  const isUnfinished = lastOperation.state !== 'Succeeded';
  if (isUnfinished && (lastOperation.type === 'Create' || lastOperation.type === 'Restore')) return lastOperation.type;
  return 'Reconcile';
}
