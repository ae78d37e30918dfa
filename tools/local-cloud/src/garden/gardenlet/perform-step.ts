import { createHash } from 'node:crypto';
import { timestamp } from '../../clock.js';
import {
  type LastOperation,
  type OperationType,
  type Shoot,
  type ShootSpec,
  type Worker,
  wantsHibernation,
  workersOf,
} from '../kinds/shoot/shoot.js';
import { firstProviderTask, isFinal, tasksOf, usualFaultyTask } from './flow-plan.js';
import { checked, nodeTroubleOf, progressing } from './health.js';
import type { Flow, FlowFault, Machine, Simulation } from './simulation.js';

const OWN_FINALIZER = 'gardener';

/** Input of a step apart from the Shoot. */
export interface World {
  readonly nowMs: number;
  readonly project: string;
  /** Uid for a Shoot that has none yet. */
  readonly newUid: string;
  /** The provider's error for the Shoot's token; null if the token is valid. */
  readonly tokenFault: FlowFault | null;
  /** Injected fault for a flow that starts now. */
  readonly orderedFault: FlowFault | null;
  /** Addresses of the Shoot's API server. */
  readonly addresses: readonly { name: string; url: string }[];
}

export type Outcome =
  | { readonly kind: 'changed'; readonly shoot: Shoot; readonly simulation: Simulation }
  /** The Shoot is removed. */
  | { readonly kind: 'gone' };

const changed = (shoot: Shoot, simulation: Simulation): Outcome => ({ kind: 'changed', shoot, simulation });

function operation(type: OperationType, state: LastOperation['state'], progress: number, text: string, at: string) {
  return { description: text, lastUpdateTime: at, progress, state, type };
}

/** Starts a flow with the current spec. */
export function startFlow(shoot: Shoot, simulation: Simulation, type: OperationType, world: World): Outcome {
  const { nowMs, project, newUid, tokenFault, orderedFault } = world;
  const at = timestamp(nowMs);
  const { metadata, spec, status } = shoot;
  const { name = '' } = metadata;
  const uid = status.uid === '' ? newUid : status.uid;
  const technicalID = status.technicalID === '' ? `shoot--${project}--${name}` : status.technicalID;
  const isRetry = status.lastOperation?.state === 'Error' && status.observedGeneration === metadata.generation;
  const staysPut = type === 'Migrate' || type === 'Delete';
  const seedName = staysPut ? status.seedName : (spec.seedName ?? status.seedName);
  const next: Shoot = {
    ...shoot,
    metadata: {
      ...metadata,
      finalizers: [...new Set([...(metadata.finalizers ?? []), OWN_FINALIZER])],
    },
    status: {
      ...status,
      uid,
      technicalID,
      clusterIdentity: status.clusterIdentity ?? `${technicalID}-${uid}-local-garden`,
      ...(seedName === undefined ? {} : { seedName }),
      ...(metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }),
      retryCycleStartTime: isRetry ? (status.retryCycleStartTime ?? at) : at,
      ...(type === 'Migrate' ? { migrationStartTime: status.migrationStartTime ?? at } : {}),
      lastOperation: operation(type, 'Processing', 0, texts[type].begun, at),
    },
  };
  const flow: Flow = { type, step: 0, spec, fault: orderedFault ?? tokenFault };
  return changed(next, { ...simulation, flow });
}

const reconciliation = {
  flow: 'Shoot cluster reconciliation',
  begun: 'Reconciliation of Shoot cluster initialized.',
  done: 'Shoot cluster has been successfully reconciled.',
};

/** Texts of the gardenlet. It uses the same ones for creating and reconciling. */
const texts: Readonly<Record<OperationType, typeof reconciliation>> = {
  Create: reconciliation,
  Reconcile: reconciliation,
  Restore: {
    flow: 'Shoot cluster reconciliation',
    begun: 'Restoration of Shoot cluster initialized.',
    done: 'Shoot cluster has been successfully restored.',
  },
  Migrate: {
    flow: 'Shoot cluster preparation for migration',
    begun: 'Preparation of Shoot cluster for migration initialized.',
    done: 'Shoot cluster has been successfully prepared for migration.',
  },
  Delete: {
    flow: 'Shoot cluster deletion',
    begun: 'Deletion of Shoot cluster in progress.',
    done: 'Shoot cluster has been successfully deleted.',
  },
};

/** Performs the next task of the current flow: it continues, fails or completes. */
export function advanceFlow(shoot: Shoot, simulation: Simulation, flow: Flow, world: World): Outcome {
  const tasks = tasksOf(flow.type);
  const task = tasks[flow.step];
  if (task === undefined) return finishFlow(shoot, simulation, flow, world);
  const { fault } = flow;
  if (fault !== null && fault.stuck !== true && task.name === faultyTask(flow, fault)) {
    return failFlow(shoot, simulation, flow, fault, task, world);
  }
  const at = timestamp(world.nowMs);
  const isUp = flow.type !== 'Delete' && flow.type !== 'Migrate' && task.progress >= 34;
  const next: Shoot = {
    ...shoot,
    status: {
      ...shoot.status,
      ...(isUp ? { advertisedAddresses: world.addresses.map((address) => ({ ...address })) } : {}),
      lastOperation: operation(flow.type, 'Processing', task.progress, task.name, at),
    },
  };
  return changed(next, { ...simulation, flow: { ...flow, step: flow.step + 1 } });
}

function faultyTask({ type }: Flow, fault: FlowFault): string {
  const wanted = fault.task ?? usualFaultyTask(type);
  const tasks = tasksOf(type);
  return tasks.some(({ name }) => name === wanted) ? wanted : firstProviderTask(type);
}

function failFlow(
  shoot: Shoot,
  simulation: Simulation,
  flow: Flow,
  fault: FlowFault,
  task: { name: string; progress: number },
  { nowMs }: World,
): Outcome {
  const at = timestamp(nowMs);
  const codes = [...(fault.codes ?? [])];
  const state = isFinal(codes) ? 'Failed' : 'Error';
  const description = `task ${JSON.stringify(task.name)} failed: ${fault.message ?? 'the flow was made to fail'}`;
  const error = { description, taskID: task.name, ...(codes.length === 0 ? {} : { codes }), lastUpdateTime: at };
  const { retryCycleStartTime: _, ...endedCycle } = shoot.status;
  const suffix = state === 'Error' ? ' Operation will be retried.' : '';
  const next: Shoot = {
    ...shoot,
    status: {
      ...(state === 'Failed' ? endedCycle : shoot.status),
      lastErrors: [error],
      lastOperation: operation(
        flow.type,
        state,
        task.progress,
        `Flow "${texts[flow.type].flow}" encountered task errors: [${description}]${suffix}`,
        at,
      ),
    },
  };
  const { flow: _flow, ...rest } = simulation;
  return changed(next, rest);
}

function finishFlow(shoot: Shoot, simulation: Simulation, flow: Flow, { nowMs }: World): Outcome {
  const at = timestamp(nowMs);
  const { flow: _, ...rest } = simulation;
  if (flow.type === 'Delete') return deleted(shoot, rest, at);
  const { lastErrors: _errors, retryCycleStartTime: _start, ...status } = shoot.status;
  const lastOperation = operation(flow.type, 'Succeeded', 100, texts[flow.type].done, at);
  if (flow.type === 'Migrate') {
    const { seedName: _seed, ...left } = status;
    const { generation = 1 } = shoot.metadata;
    const metadata = { ...shoot.metadata, generation: generation + 1 };
    return changed({ ...shoot, metadata, status: { ...left, lastOperation } }, rest);
  }
  const { migrationStartTime: _migration, ...settled } = status;
  const hibernated = wantsHibernation(flow.spec);
  const next: Shoot = {
    ...shoot,
    status: { ...settled, hibernated, lastOperation, ...progressing(shoot, at) },
  };
  const before = hibernated ? [] : (simulation.reconciled?.machines ?? []);
  const machines = hibernated ? [] : machinesFor(status.technicalID, flow.spec, before, at);
  return changed(next, { ...rest, careDue: true, reconciled: { spec: flow.spec, machines } });
}

/** The gardenlet takes away its own finalizer only. */
function deleted(shoot: Shoot, simulation: Simulation, at: string): Outcome {
  const foreign = (shoot.metadata.finalizers ?? []).filter((name) => name !== OWN_FINALIZER);
  if (foreign.length === 0) return { kind: 'gone' };
  const { lastErrors: _errors, retryCycleStartTime: _start, ...status } = shoot.status;
  const lastOperation = operation('Delete', 'Succeeded', 100, texts.Delete.done, at);
  const metadata = { ...shoot.metadata, finalizers: foreign };
  return changed({ ...shoot, metadata, status: { ...status, lastOperation } }, simulation);
}

/** Checks the Shoot's health, which depends only on its nodes. */
export function checkHealth(shoot: Shoot, simulation: Simulation, { nowMs }: World): Outcome {
  const { careDue: _, ...rest } = simulation;
  const status = { ...shoot.status, ...checked(shoot, timestamp(nowMs), nodeTroubleOf(shoot.spec, simulation)) };
  return changed({ ...shoot, status }, rest);
}

/** Five letters and digits derived from a text. */
const suffixOf = (text: string): string => {
  const letters = 'bcdfghjklmnpqrstvwxz2456789';
  const bytes = createHash('sha256').update(text).digest();
  return Array.from({ length: 5 }, (_, index) => letters[(bytes[index] ?? 0) % letters.length]).join('');
};

/** Machines roll when this changes: with machine type, image or minor version, not with labels, taints or counts. */
const templateOf = ({ kubernetes }: ShootSpec, worker: Worker): string =>
  suffixOf(
    JSON.stringify([
      kubernetes.version.split('.').slice(0, 2),
      worker.machine,
      worker.zones,
      worker.cri,
      worker.providerConfig,
    ]),
  );

/**
 * The machines for a spec: `minimum` of each pool in each of its zones.
 *
 * @param before existing machines; those with the same template are kept
 * @param at creation time of new machines; RFC 3339
 */
function machinesFor(technicalId: string, spec: ShootSpec, before: readonly Machine[], at: string): Machine[] {
  return workersOf(spec).flatMap((worker) => {
    return (worker.zones ?? []).flatMap((zone) => {
      const set = `${technicalId}-${worker.name}-${zone}-${templateOf(spec, worker)}`;
      return Array.from({ length: worker.minimum }, (_, index): Machine => {
        const name = `${set}-${suffixOf(`${set}/${index}/${at}`)}`;
        const kept = before.filter((machine) => machine.name.startsWith(`${set}-`))[index];
        return kept ?? { name, pool: worker.name, createdAt: at };
      });
    });
  });
}
