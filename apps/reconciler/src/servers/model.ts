import type {
  ConnectionPhase,
  OperationWaiting,
  RebuildPurpose,
  ServerErrorCode,
  ServerKind,
  ServerPhase,
} from '@corral/contracts';
import type { NodeMarks, NodeReading } from '@corral/garden';
import type { Architecture, ImageReading, ServerAction, ServerReading } from '@corral/hcloud';
import type { OperationVerdict as OperationVerdictOf } from '../loop/operation-verdict.js';
import type { Wait } from './wait-reasons.js';

/** A server as its row has it: what was acknowledged, and how far that has come. */
export interface WantedServer {
  readonly id: string;
  /** The provider's number. */
  readonly serverId: number;
  readonly kind: ServerKind;
  readonly serverType: string;
  readonly location: string;
  readonly architecture: Architecture;
  /** Counts the acknowledgements: one rebuild for each. Of a machine that joins by command also its commands. */
  readonly generation: number;
  readonly acknowledgedAt: Date;
  /** What the rebuild of this generation is for, and when that began. */
  readonly purpose: RebuildPurpose;
  readonly begunAt: Date;
  readonly phase: ServerPhase;
  /** What clients were told last. */
  readonly message: string;
  /** The operation of its adoption has not ended. */
  readonly isAdopting: boolean;
  /** When the provider last told of it. */
  readonly observedAt: Date | null;
  /** The value of the label that says whose the server is. */
  readonly claimToken: string;
  /** When the label was read back. */
  readonly claimedAt: Date | null;
  readonly imageId: number | null;
  /** The provider's clock when the rebuild was about to be asked for. Once set, its actions are read before all else. */
  readonly rebuildAskedAt: Date | null;
  readonly rebuildActionId: number | null;
  readonly deregisterRequestedAt: Date | null;
  /** Passes in a row that the provider gave no usable answer to. */
  readonly failures: number;
  /** Why its operation did not get on, as clients were told last. */
  readonly waiting: OperationWaiting | null;
  readonly connection: { readonly id: string; readonly phase: ConnectionPhase };
  /** What is wanted of it: to be a node of that pool. */
  readonly claim: { readonly poolId: string; readonly poolName: string; readonly cluster: NodeCluster } | null;
  /** What it is: the cluster whose node it is, or may be. Null also when that cluster is gone. */
  readonly member: NodeCluster | null;
  /** The name of that node. Set from the moment on at which it may join until it was rebuilt clean. */
  readonly nodeName: string | null;
}

/** A cluster as far as its nodes need to know it. */
export interface NodeCluster {
  readonly id: string;
  /** Null while the garden has no place for it. */
  readonly shoot: ShootName | null;
  readonly isDeleting: boolean;
  /** It sleeps, or is wanted to. */
  readonly isAsleep: boolean;
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

/** What a pass has seen so far; null for what it has not looked at. */
export interface Seen {
  readonly server: ServerReading | 'absent' | null;
  /** Newest first, and the provider's clock when it told them. */
  readonly actions: { readonly list: readonly ServerAction[]; readonly at: Date } | null;
  /** Our own clock when they were read, which never goes back. */
  readonly actionsTick: number | null;
  /** The one with the number in the row. */
  readonly action: ServerAction | 'absent' | null;
  readonly image: ImageReading | 'absent' | null;
  readonly node: NodeReading | 'absent' | null;
  /** How many pods were on the node after the last eviction. */
  readonly podsLeft: number | null;
  /** Holds a secret of short life: for this pass only, and neither stored nor logged. */
  readonly joinUserData: string | null;
  /** The generation as it was when all tokens with which the node could join were deleted. A later one may have made others. */
  readonly joinEndedIn: number | null;
}

export const nothingSeen: Seen = {
  ...{
    server: null,
    actions: null,
    actionsTick: null,
    action: null,
    image: null,
    node: null,
    podsLeft: null,
    joinUserData: null,
    joinEndedIn: null,
  },
};

export type Step =
  | { readonly do: 'readServer' }
  | { readonly do: 'readActions' }
  | { readonly do: 'readAction'; readonly actionId: number }
  | { readonly do: 'findImage' }
  | { readonly do: 'putClaim'; readonly labels: Readonly<Record<string, string>> }
  | { readonly do: 'recordClaim' }
  /** Writes down that it is about to ask, and asks: the one step that cannot be taken back. */
  | { readonly do: 'askRebuild'; readonly askedAt: Date; readonly imageId: number }
  /** The answer was lost, and the provider tells of the action. */
  | { readonly do: 'recordAction'; readonly actionId: number }
  /** Nothing came of the question, and nothing can any more. */
  | { readonly do: 'forgetAsk' }
  /** A new generation: membership is written down, and from now on the server may join. */
  | { readonly do: 'beginJoin'; readonly cluster: NodeCluster; readonly nodeName: string }
  /** A new generation, without join data. */
  | { readonly do: 'beginLeave' }
  /** Has join data made for the rebuild that is about to be asked for. */
  | { readonly do: 'prepareJoin'; readonly node: NodeOf }
  /** Deletes the tokens that join data was made with. */
  | { readonly do: 'endJoin'; readonly node: NodeOf }
  | { readonly do: 'readNode'; readonly node: NodeOf }
  | { readonly do: 'markNode'; readonly node: NodeOf; readonly marks: NodeMarks }
  | { readonly do: 'cordon'; readonly node: NodeOf }
  | { readonly do: 'evict'; readonly node: NodeOf }
  | { readonly do: 'deleteNode'; readonly node: NodeOf }
  | { readonly do: 'removeClaim'; readonly labels: Readonly<Record<string, string>> }
  /** The server is detached: its row goes. */
  | { readonly do: 'forget' }
  | { readonly do: 'settle'; readonly verdict: Verdict };

/** What clients are told, and when to look again. */
export interface Verdict {
  readonly phase: ServerPhase;
  readonly message: string;
  readonly operation: OperationVerdict;
  /** Why that does not get on; null when nothing is in its way. */
  readonly waiting: Wait | null;
  /** Milliseconds; null when only news makes another look worth while. */
  readonly lookAgainMs: number | null;
  /** The provider refused the token: somebody should show it to the provider once more. */
  readonly doubtsToken: boolean;
  readonly failures: number;
  /** Null: as it was last seen. */
  readonly nodeReady: boolean | null;
  /** Nothing of the server is a node any more. */
  readonly endsMembership: boolean;
}

export type OperationVerdict = OperationVerdictOf<ServerErrorCode>;

export interface ServerTimes {
  /** So long after it was sent a request for a rebuild may still arrive at the provider. */
  readonly rebuildGraceMs: number;
  /** From acknowledgement to end. */
  readonly adoptionMsMax: number;
  /** From the beginning of joining until the node is Ready. */
  readonly joinMsMax: number;
  /** So long the owner of a machine that joins by command may let it wait: for a node pool, and for the command to be run. */
  readonly commandMsMax: number;
  /** For so long pods are asked to go, and may be kept by their disruption budgets. */
  readonly drainMsMax: number;
}
