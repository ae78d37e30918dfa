import type { ConnectionPhase, ServerErrorCode, ServerPhase } from '@corral/contracts';
import type { Architecture, ImageReading, ServerAction, ServerReading } from '@corral/hcloud';
import type { OperationVerdict as OperationVerdictOf } from '../loop/operation-verdict.js';

/** A server as its row has it: what was acknowledged, and how far that has come. */
export interface WantedServer {
  readonly id: string;
  /** The provider's number. */
  readonly serverId: number;
  readonly serverType: string;
  readonly location: string;
  readonly architecture: Architecture;
  /** Counts the acknowledgements: one rebuild for each. */
  readonly generation: number;
  readonly acknowledgedAt: Date;
  readonly phase: ServerPhase;
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
  readonly connection: { readonly id: string; readonly phase: ConnectionPhase };
}

/** What a pass has seen so far; null for what it has not looked at. */
export interface Seen {
  readonly server: ServerReading | 'absent' | null;
  /** Newest first, and the provider's clock when it told them. */
  readonly actions: { readonly list: readonly ServerAction[]; readonly at: Date } | null;
  /** The one with the number in the row. */
  readonly action: ServerAction | 'absent' | null;
  readonly image: ImageReading | 'absent' | null;
}

export const nothingSeen: Seen = { server: null, actions: null, action: null, image: null };

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
  | { readonly do: 'removeClaim'; readonly labels: Readonly<Record<string, string>> }
  /** The server is detached: its row goes. */
  | { readonly do: 'forget' }
  | { readonly do: 'settle'; readonly verdict: Verdict };

/** What clients are told, and when to look again. */
export interface Verdict {
  readonly phase: ServerPhase;
  readonly message: string;
  readonly operation: OperationVerdict;
  /** Milliseconds; null when only news makes another look worth while. */
  readonly lookAgainMs: number | null;
  /** The provider refused the token: somebody should show it to the provider once more. */
  readonly doubtsToken: boolean;
  readonly failures: number;
}

export type OperationVerdict = OperationVerdictOf<ServerErrorCode>;

export interface ServerTimes {
  /** So long after it was sent a request for a rebuild may still arrive at the provider. */
  readonly rebuildGraceMs: number;
  /** From acknowledgement to end. */
  readonly adoptionMsMax: number;
}
