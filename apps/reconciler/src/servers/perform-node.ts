import { GardenError, isGardenError, type JoinData, type ShootNodes } from '@corral/garden';
import { type GardenGate, type GardenReport, gardenReportOf } from '../garden/gate.js';
import { Stopped } from '../loop/run-bounds.js';
import type { NodeOf, Seen, Step, WantedServer } from './model.js';
import { JOIN_TOKEN_MS } from './verdicts.js';

export interface NodeDeps {
  readonly nodes: ShootNodes;
  /** Renders the user data that makes a server a node. */
  readonly renderJoinUserData: (join: JoinData, nodeName: string) => string;
  /** Shares knowledge about garden problems between servers. */
  readonly gate: GardenGate;
}

export type NodeFailure =
  | { readonly kind: 'unanswered'; readonly error: GardenError }
  /** The garden gate is paused. */
  | { readonly kind: 'paused'; readonly inMs: number };

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
