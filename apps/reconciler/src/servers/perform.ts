import type { ServerId } from '@corral/contracts';
import { GardenError, isGardenError, type JoinData, type ShootNodes } from '@corral/garden';
import type { ProjectClient, ProjectFailure, ProjectOutcome } from '@corral/hcloud';
import { type GardenGate, type GardenReport, gardenReportOf } from '../garden/gate.js';
import type { PassLease } from '../loop/lease.js';
import { Stopped } from '../loop/work.js';
import { JOIN_TOKEN_MS } from './judge.js';
import {
  type NodeFailure,
  type NodeOf,
  nothingSeen,
  type Seen,
  type ServerTimes,
  type Step,
  type WantedServer,
} from './model.js';
import type { ServerStore } from './store.js';

export interface PerformDeps extends NodeDeps {
  readonly store: ServerStore;
  /** Name of the system image for rebuilds. */
  readonly image: string;
  readonly times: ServerTimes;
  /** Monotonic clock in milliseconds. */
  readonly tick: () => number;
}

export interface StepContext {
  readonly lease: PassLease<ServerId>;
  readonly wanted: WantedServer;
  readonly seen: Seen;
  /** Null for a machine without a provider. */
  readonly project: ProjectClient | null;
  readonly signal: AbortSignal;
}

export type Performed =
  | { readonly kind: 'done'; readonly seen: Seen }
  | { readonly kind: 'failed'; readonly failure: ProjectFailure }
  | NodeFailure
  /** The wish has changed, or the lease is lost: read the row again. */
  | { readonly kind: 'changed' }
  | { readonly kind: 'forgotten' };

/**
 * Fraction of the grace period within which the request must be sent after the actions were read, since the recorded time is
 * theirs. A process that was suspended in between must not send it after others have concluded that it had no effect.
 */
const REQUEST_WITHIN = 1 / 12;

/**
 * Sent with each rebuild, because the provider would otherwise reuse the previous user data. Contains no secret: any process
 * on the server can read it.
 */
const plainUserData = ['#cloud-config', '# Rebuilt by Corral.', 'ssh_pwauth: false', ''].join('\n');

/** Performs one step. Observations that it makes stale are dropped, so that they are read again. */
export const performStep =
  (deps: PerformDeps) =>
  async (context: StepContext, step: Exclude<Step, { do: 'finish' }>): Promise<Performed> => {
    const { lease, wanted, seen } = context;
    const { serverId } = wanted;
    const { store } = deps;
    switch (step.do) {
      case 'readServer':
        return found(await projectOf(context).readServer(serverId), (server) => ({ ...seen, server }));
      case 'readActions': {
        const outcome = await projectOf(context).listServerActions(serverId);
        if (outcome.kind !== 'ok') return gone(outcome, seen);
        const actions = { list: outcome.value, at: outcome.at };
        return { kind: 'done', seen: { ...seen, actions, actionsTick: deps.tick() } };
      }
      case 'readAction':
        return found(await projectOf(context).readAction(step.actionId), (action) => ({ ...seen, action }));
      case 'findImage': {
        const outcome = await projectOf(context).findSystemImage(deps.image, wanted.architecture);
        if (outcome.kind !== 'ok') return { kind: 'failed', failure: outcome };
        return { kind: 'done', seen: { ...seen, image: outcome.value ?? 'absent' } };
      }
      case 'putLabel':
      case 'removeLabel': {
        // Read back, because another writer may have replaced all labels at the same time.
        const outcome = await projectOf(context).putLabels(serverId, step.labels);
        return outcome.kind === 'ok' ? { kind: 'done', seen: { ...seen, server: null } } : gone(outcome, seen);
      }
      case 'recordLabel':
        return recorded(await store.recordLabel(lease, wanted), seen);
      case 'recordAction':
        return recorded(await store.recordAction(lease, wanted, step.actionId), seen);
      case 'forgetRequest':
        return recorded(await store.forgetRequest(lease, wanted), { ...seen, server: null });
      case 'requestRebuild':
        return requestRebuild(deps, context, step);
      case 'beginJoin':
        return recorded(await store.beginJoin(lease, wanted, step), { ...nothingSeen, server: seen.server });
      case 'beginLeave':
        return recorded(await store.beginLeave(lease, wanted), nothingSeen);
      case 'prepareJoin':
      case 'endJoin':
      case 'readNode':
      case 'patchNode':
      case 'cordon':
      case 'evict':
      case 'deleteNode':
        return performNodeStep(deps, context, step);
      case 'forget':
        return (await store.forget(lease, wanted)) ? { kind: 'forgotten' } : { kind: 'changed' };
    }
  };

/** @throws Error when a step needs a provider and there is none */
function projectOf({ project, wanted }: StepContext): ProjectClient {
  if (project === null) throw new Error(`No provider is asked about a server of the kind ${wanted.kind}.`);
  return project;
}

async function requestRebuild(
  { store, tick, times }: PerformDeps,
  context: StepContext,
  { askedAt, imageId }: { askedAt: Date; imageId: number },
): Promise<Performed> {
  const { lease, wanted, seen } = context;
  const isTooLate = () =>
    seen.actionsTick === null || tick() - seen.actionsTick > times.rebuildGraceMs * REQUEST_WITHIN;
  // Only a joining server gets prepared join data.
  const userData = wanted.phase === 'Joining' ? seen.joinUserData : plainUserData;
  if (userData === null || isTooLate()) return { kind: 'changed' };
  if (!(await store.recordRequest(lease, wanted, { askedAt, imageId }))) return { kind: 'changed' };
  const outcome = isTooLate()
    ? ({ kind: 'unreached', reason: 'it was not sent in time' } as const)
    : await projectOf(context).rebuild(wanted.serverId, { imageId, userData });
  if (outcome.kind === 'ok') {
    return recorded(await store.recordAction(lease, wanted, outcome.value.id), { ...seen, server: null });
  }
  // Definitely not started. Only after an uncertain outcome the request stays recorded, and the next pass finds out.
  if (outcome.kind !== 'uncertain' && !(await store.forgetRequest(lease, wanted))) return { kind: 'changed' };
  return { kind: 'failed', failure: outcome };
}

function found<T>(outcome: ProjectOutcome<T>, see: (value: T | 'absent') => Seen): Performed {
  if (outcome.kind === 'ok') return { kind: 'done', seen: see(outcome.value) };
  if (outcome.kind === 'absent') return { kind: 'done', seen: see('absent') };
  return { kind: 'failed', failure: outcome };
}

/** A server that disappeared between two calls is read again before the next decision. */
function gone(outcome: ProjectFailure, seen: Seen): Performed {
  if (outcome.kind === 'absent' && seen.server !== null) return { kind: 'done', seen: { ...seen, server: null } };
  return { kind: 'failed', failure: outcome };
}

const recorded = (isOurs: boolean, seen: Seen): Performed => (isOurs ? { kind: 'done', seen } : { kind: 'changed' });

interface NodeDeps {
  readonly nodes: ShootNodes;
  /** Renders the user data that makes a server a node. */
  readonly renderJoinUserData: (join: JoinData, nodeName: string) => string;
  /** Shares knowledge about garden problems between servers. */
  readonly gate: GardenGate;
}

type NodeStep = Extract<Step, { readonly node: NodeOf }>;

interface NodeContext {
  readonly wanted: WantedServer;
  readonly seen: Seen;
  readonly signal: AbortSignal;
}

/** Performs one step in a cluster. Observations that it makes stale are dropped, so that they are read again. */
export async function performNodeStep(
  deps: NodeDeps,
  context: NodeContext,
  step: NodeStep,
): Promise<{ readonly kind: 'done'; readonly seen: Seen } | NodeFailure> {
  const { pausedMs } = deps.gate.state();
  if (pausedMs > 0) return { kind: 'paused', inMs: pausedMs };
  const leave = await enter(deps.gate, step.node, context.signal);
  if (leave === null) return { kind: 'paused', inMs: 0 };
  let report: GardenReport | null = null;
  try {
    const seen = await take(deps, context, step);
    report = { kind: 'fine' };
    return { kind: 'done', seen };
  } catch (error) {
    if (!isGardenError(error)) throw error;
    report = reportOf(error);
    const isGone = error.kind === 'not_found' && ['patchNode', 'cordon', 'evict'].includes(step.do);
    // A Node that disappeared between two calls is read again before the next decision.
    if (isGone) return { kind: 'done', seen: { ...context.seen, node: null, podsLeft: null } };
    return { kind: 'unanswered', error };
  } finally {
    leave(report);
  }
}

async function take({ nodes, renderJoinUserData }: NodeDeps, context: NodeContext, step: NodeStep): Promise<Seen> {
  const { wanted, seen, signal } = context;
  const { shoot, name } = step.node;
  switch (step.do) {
    case 'prepareJoin': {
      const { architecture } = wanted;
      const request = { nodeName: name, architecture, tokenSeconds: JOIN_TOKEN_MS / 1_000 };
      const join = await nodes.joinData(shoot, request, signal);
      // This took time, and the request time of a rebuild must come from freshly read actions.
      return { ...seen, joinUserData: rendered(() => renderJoinUserData(join, name)), actions: null };
    }
    case 'endJoin':
      await nodes.endJoin(shoot, name, signal);
      // A leaving server may have joined just before, so its node is read again.
      return { ...seen, joinEndedIn: wanted.generation, node: wanted.phase === 'Leaving' ? null : seen.node };
    case 'readNode':
      return { ...seen, node: (await nodes.readNode(shoot, name, signal)) ?? 'absent' };
    case 'patchNode':
      await nodes.patchNode(shoot, name, step.patch, signal);
      return { ...seen, node: null };
    case 'cordon':
      await nodes.patchNode(shoot, name, { isUnschedulable: true }, signal);
      return { ...seen, node: null };
    case 'evict':
      return { ...seen, podsLeft: await nodes.evictPods(shoot, name, signal) };
    case 'deleteNode':
      await nodes.deleteNode(shoot, name, signal);
      // If the Node registers again, its pods must be evicted too.
      return { ...seen, node: 'absent', podsLeft: null };
  }
}

/** Join data comes from the cluster's owner. Data that cannot be rendered counts as an unusable answer. */
function rendered(render: () => string): string {
  try {
    return render();
  } catch (error) {
    if (error instanceof TypeError) throw new GardenError('unusable', 'join data of a Shoot');
    throw error;
  }
}

async function enter(gate: GardenGate, { shoot }: NodeOf, signal: AbortSignal) {
  try {
    return await gate.enter(`${shoot.namespace}/${shoot.name}`, signal);
  } catch (error) {
    if (error instanceof Stopped) return null;
    throw error;
  }
}

/**
 * What a failure says about the garden itself. A control plane that is not up is indistinguishable from an unreachable one, and a
 * Shoot's own answer must not block work on others.
 */
function reportOf(error: GardenError): GardenReport | null {
  if (error.fromShoot) return null;
  const report = gardenReportOf(error);
  return report?.kind === 'throttled' || report?.kind === 'locked' ? report : null;
}
