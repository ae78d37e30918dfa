import type { OperationVerdict as OperationVerdictOf, ServerState } from '@corral/cluster-data';
import type {
  ClusterId,
  ConnectionId,
  ConnectionPhase,
  NodePoolId,
  OperationWaiting,
  RebuildPurpose,
  ServerErrorCode,
  ServerKind,
  ServerPhase,
  ServerWaitReason,
} from '@corral/contracts';
import type { Hold } from '@corral/database';
import { type GardenError, isHostName, type NodePatch, type NodeReading } from '@corral/garden';
import type { Architecture, ImageReading, ServerAction, ServerReading } from '@corral/hcloud';
import { poolLabel } from '../clusters/model.js';

/** Why a server's operation makes no progress, for programs. */
export type WaitReason = ServerWaitReason;

/** What an operation waits for, without the start time. */
export interface Wait {
  readonly reason: WaitReason;
  /** Message for people. */
  readonly message: string;
}

/** A server as its row has it: what was acknowledged, and how far that has come. */
export interface WantedServer extends ServerState {
  /** The provider's number. */
  readonly serverId: number;
  readonly kind: ServerKind;
  readonly serverType: string;
  readonly location: string;
  readonly architecture: Architecture;
  readonly acknowledgedAt: Date;
  /** Purpose of this generation's rebuild, and when it began. */
  readonly purpose: RebuildPurpose;
  readonly begunAt: Date;
  /** The operation of its adoption has not ended. */
  readonly isAdopting: boolean;
  /** The time when the label was read back. */
  readonly labelledAt: Date | null;
  readonly imageId: number | null;
  /** The provider's clock just before the rebuild request. Once set, the actions are read before anything else. */
  readonly rebuildAskedAt: Date | null;
  readonly rebuildActionId: number | null;
  /** Passes in a row that the provider gave no usable answer to. */
  readonly failures: number;
  /** Why its operation makes no progress, as last reported to clients. */
  readonly waiting: OperationWaiting | null;
  readonly connection: { readonly id: ConnectionId; readonly phase: ConnectionPhase };
  /** What is wanted of it: to be a node of that pool. */
  readonly claim: { readonly poolId: NodePoolId; readonly poolName: string; readonly cluster: NodeCluster } | null;
  /** What it is: the cluster whose node it is, or may be. Null also when that cluster is gone. */
  readonly currentCluster: NodeCluster | null;
  /** The hold that ended before the server was read. Until then passes only read it. */
  readonly unreadHold: Hold | null;
}

/** The facts of a cluster that its nodes depend on. */
export interface NodeCluster {
  readonly id: ClusterId;
  /** Null while the garden has no place for it. */
  readonly shoot: ShootName | null;
  readonly isDeleting: boolean;
  /** Hibernated, or declared to be. */
  readonly isHibernated: boolean;
  /** Its control plane answers, and it has a worker pool whose configuration a node can take. */
  readonly canTakeNodes: boolean;
}

interface ShootName {
  readonly namespace: string;
  readonly name: string;
}

/** One Node of one Shoot. */
export interface NodeOf {
  readonly shoot: ShootName;
  readonly name: string;
}

/** What a pass has observed so far. Null for what it has not read. */
export interface Seen {
  readonly server: ServerReading | 'absent' | null;
  /** Newest first, with the provider's clock at the response. */
  readonly actions: { readonly list: readonly ServerAction[]; readonly at: Date } | null;
  /** Our monotonic clock when the actions were read. */
  readonly actionsTick: number | null;
  /** The action with the id in the row. */
  readonly action: ServerAction | 'absent' | null;
  readonly image: ImageReading | 'absent' | null;
  readonly node: NodeReading | 'absent' | null;
  /** Number of pods on the node after the last eviction. */
  readonly podsLeft: number | null;
  /** Contains a short-lived secret: kept during this pass only, and never stored or logged. */
  readonly joinUserData: string | null;
  /** The generation for which all join tokens of the node were deleted. A later generation may have created others. */
  readonly joinEndedIn: number | null;
}

export const nothingSeen: Seen = {
  server: null,
  actions: null,
  actionsTick: null,
  action: null,
  image: null,
  node: null,
  podsLeft: null,
  joinUserData: null,
  joinEndedIn: null,
};

export type Step =
  | { readonly do: 'readServer' }
  | { readonly do: 'readActions' }
  | { readonly do: 'readAction'; readonly actionId: number }
  | { readonly do: 'findImage' }
  | { readonly do: 'putLabel'; readonly labels: Readonly<Record<string, string>> }
  | { readonly do: 'recordLabel' }
  /** Records the intent and requests the rebuild. The only step that cannot be undone. */
  | { readonly do: 'requestRebuild'; readonly askedAt: Date; readonly imageId: number }
  /** The response was lost, and the action was found at the provider. */
  | { readonly do: 'recordAction'; readonly actionId: number }
  /** The request had no effect, and can no longer have one. */
  | { readonly do: 'forgetRequest' }
  /** A new generation: records the current cluster. The server may join from now on. */
  | { readonly do: 'beginJoin'; readonly cluster: NodeCluster; readonly nodeName: string }
  /** A new generation, without join data. */
  | { readonly do: 'beginLeave' }
  /** Creates join data for the upcoming rebuild. */
  | { readonly do: 'prepareJoin'; readonly node: NodeOf }
  /** Deletes the tokens of the join data. */
  | { readonly do: 'endJoin'; readonly node: NodeOf }
  | { readonly do: 'readNode'; readonly node: NodeOf }
  | { readonly do: 'patchNode'; readonly node: NodeOf; readonly patch: NodePatch }
  | { readonly do: 'cordon'; readonly node: NodeOf }
  | { readonly do: 'evict'; readonly node: NodeOf }
  | { readonly do: 'deleteNode'; readonly node: NodeOf }
  | { readonly do: 'removeLabel'; readonly labels: Readonly<Record<string, string>> }
  /** The server is detached, so its row is deleted. */
  | { readonly do: 'forget' }
  | { readonly do: 'finish'; readonly verdict: Verdict };

/** What clients see, and when the next pass is due. */
export interface Verdict {
  readonly phase: ServerPhase;
  readonly message: string;
  readonly operation: OperationVerdict;
  /** Why the operation makes no progress, or null. */
  readonly waiting: Wait | null;
  /** Milliseconds, or null when no pass is needed before the next event. */
  readonly nextPassMs: number | null;
  /** The provider refused the token, which must be verified again. */
  readonly doubtsToken: boolean;
  readonly failures: number;
  /** Null keeps the last observation. */
  readonly nodeReady: boolean | null;
  /** The server is no longer a node of its current cluster. */
  readonly hasLeftCluster: boolean;
}

export type OperationVerdict = OperationVerdictOf<ServerErrorCode>;

export interface ServerTimes {
  /** How long after it was sent a rebuild request may still reach the provider. */
  readonly rebuildGraceMs: number;
  /** The longest time from acknowledgement to end of an adoption. */
  readonly adoptionMsMax: number;
  /** The longest time from the start of joining until the node is Ready. */
  readonly joinMsMax: number;
  /** How long a machine that joins by command may wait for a node pool, and for its command to be run. */
  readonly commandMsMax: number;
  /** How long pods are evicted while disruption budgets may keep them. */
  readonly drainMsMax: number;
}

/** Why a cluster did not perform a step. */
export type NodeFailure =
  | { readonly kind: 'unanswered'; readonly error: GardenError }
  /** The garden gate is paused. */
  | { readonly kind: 'paused'; readonly inMs: number };

/** Without it, the garden counts the node to the worker pool that its configuration comes from. */
const unmanagedAnnotation = 'node.machine.sapcloud.io/not-managed-by-mcm';

/** The claim is for the current cluster, which is not being deleted. */
export function hasToJoin({ claim, currentCluster }: WantedServer): boolean {
  return (
    claim !== null && currentCluster !== null && claim.cluster.id === currentCluster.id && !currentCluster.isDeleting
  );
}

/** Null when there is no node to ask about: the server is no node, or its cluster is gone or not in the garden. */
export function nodeOf({ currentCluster, nodeName }: WantedServer): NodeOf | null {
  const shoot = currentCluster?.shoot ?? null;
  return shoot === null || nodeName === null ? null : { shoot, name: nodeName };
}

/** Why a claimed server waits for a cluster that cannot take nodes. */
export function waitsFor(cluster: NodeCluster): string {
  if (cluster.isDeleting) return 'The cluster is being deleted.';
  if (cluster.isHibernated) return 'The cluster is hibernated. The server joins it once the cluster is resumed.';
  return 'The cluster cannot take nodes yet. The server joins it once the control plane and a managed pool are ready.';
}

/** The labels and annotations that the node lacks, or null when it has all. */
export function nodePatchFor({ claim }: WantedServer, node: NodeReading): NodePatch | null {
  const label = claim?.poolName;
  const isMarked = node.annotations[unmanagedAnnotation] === '1' && node.labels[poolLabel] === label;
  if (isMarked || label === undefined) return null;
  return { annotations: { [unmanagedAnnotation]: '1' }, labels: { [poolLabel]: label } };
}

/** The cluster's cloud controller finds the server of a node by this name. */
export function nodeNameFor(serverName: string, serverId: number): string {
  const name = serverName.toLowerCase();
  return isHostName(name) ? name : `server-${serverId}`;
}
