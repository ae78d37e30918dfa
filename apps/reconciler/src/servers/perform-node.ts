import { GardenError, isGardenError, type JoinData, type ShootNodes } from '@corral/garden';
import { type GardenGate, type GardenWord, gardenWordOf } from '../loop/garden-gate.js';
import { Stopped } from '../loop/unless-stopped.js';
import type { NodeOf, Seen, Step, WantedServer } from './model.js';
import { JOIN_TOKEN_MS } from './verdicts.js';

export interface NodeDeps {
  readonly nodes: ShootNodes;
  /** Of the user data that makes a server a node. */
  readonly renderJoinUserData: (join: JoinData, nodeName: string) => string;
  /** What is wrong with the garden is found out by one server for all. */
  readonly gate: GardenGate;
}

export type NodeFailure =
  | { readonly kind: 'unanswered'; readonly error: GardenError }
  /** The garden wants to be left alone. */
  | { readonly kind: 'paused'; readonly inMs: number };

type NodeStep = Extract<Step, { readonly node: NodeOf }>;

interface NodeContext {
  readonly wanted: WantedServer;
  readonly seen: Seen;
  readonly signal: AbortSignal;
}

/** Takes one step in a cluster. The seen parts that it makes old are forgotten, so that they are read again. */
export async function performNodeStep(
  deps: NodeDeps,
  context: NodeContext,
  step: NodeStep,
): Promise<{ readonly kind: 'done'; readonly seen: Seen } | NodeFailure> {
  const { pausedMs } = deps.gate.state();
  if (pausedMs > 0) return { kind: 'paused', inMs: pausedMs };
  const leave = await enter(deps.gate, step.node, context.signal);
  if (leave === null) return { kind: 'paused', inMs: 0 };
  let word: GardenWord | null = null;
  try {
    const seen = await take(deps, context, step);
    word = { kind: 'fine' };
    return { kind: 'done', seen };
  } catch (error) {
    if (!isGardenError(error)) throw error;
    word = wordOf(error);
    const isGone = error.kind === 'not_found' && ['markNode', 'cordon', 'evict'].includes(step.do);
    // A Node that went away between two calls is read again, and then decided about.
    if (isGone) return { kind: 'done', seen: { ...context.seen, node: null, podsLeft: null } };
    return { kind: 'unanswered', error };
  } finally {
    leave(word);
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
      // That took its time, and the time at which a rebuild is asked for has to be that of the actions.
      return { ...seen, joinUserData: rendered(() => renderJoinUserData(join, name)), actions: null };
    }
    case 'endJoin':
      await nodes.endJoin(shoot, name, signal);
      // Of one that leaves: it may have joined in the moment before.
      return { ...seen, joinEndedIn: wanted.generation, node: wanted.phase === 'Leaving' ? null : seen.node };
    case 'readNode':
      return { ...seen, node: (await nodes.readNode(shoot, name, signal)) ?? 'absent' };
    case 'markNode':
      await nodes.markNode(shoot, name, step.marks, signal);
      return { ...seen, node: null };
    case 'cordon':
      await nodes.markNode(shoot, name, { isUnschedulable: true }, signal);
      return { ...seen, node: null };
    case 'evict':
      return { ...seen, podsLeft: await nodes.evictPods(shoot, name, signal) };
    case 'deleteNode':
      await nodes.deleteNode(shoot, name, signal);
      // Should it come back, its pods are to be asked as well.
      return { ...seen, node: 'absent', podsLeft: null };
  }
}

/** What the cluster tells of itself is its own: join data of which nothing can be made is an answer of no use. */
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
 * What a failure says about the garden as such. A control plane that is not up looks like one that is away, and what a
 * Shoot itself answers must not keep others from the garden.
 */
function wordOf(error: GardenError): GardenWord | null {
  if (error.fromShoot) return null;
  const word = gardenWordOf(error);
  return word?.kind === 'throttled' || word?.kind === 'locked' ? word : null;
}
