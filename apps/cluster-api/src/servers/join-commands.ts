import type { RequestScope } from '@corral/admission';
import { clusterLimits, type ServerId } from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import { denialSentence, GardenError, type JoinData, type ShootNodes } from '@corral/garden';
import type { Caller } from '../changes/caller.js';
import { checkPerHour, type IssueOutcome, type Issues, isSurelyNotIssued } from '../kubeconfigs/issued-credentials.js';
import { notFound, Problem } from '../problem.js';
import type { WakeUp } from '../wake-ups.js';
import { type JoiningMachine, type JoiningServer, joiningMachine, notJoining } from './joining-machine.js';

/** What an issue needs from the store. The team's changes are locked meanwhile. */
export interface JoinCommandTransaction extends Issues {
  readonly server: JoiningServer | null;
  /** Records who is about to get a credential. @returns the id of the audit entry */
  recordIssue(machine: JoiningMachine): Promise<bigint>;
}

export interface JoinCommandStore {
  withServer<T>(
    caller: Caller,
    of: { readonly ref: string; readonly serverId: number },
    work: (tx: JoinCommandTransaction) => Promise<T>,
  ): Promise<T>;
  /**
   * Restarts the wait for the machine and marks it as due.
   *
   * @returns false when the machine should no longer join this pool under this node name
   */
  expect(caller: Caller, machine: JoiningMachine): Promise<boolean>;
  /** Adds the outcome to the audit entry. */
  recordOutcome(caller: Caller, entryId: bigint, outcome: IssueOutcome): Promise<void>;
}

export interface JoinCommandDeps {
  readonly store: JoinCommandStore;
  /** Access to the clusters, which create their own bootstrap tokens. */
  readonly joinData: (scope: RequestScope, ...call: Parameters<ShootNodes['joinData']>) => Promise<JoinData>;
  readonly endJoin: (scope: RequestScope, ...call: Parameters<ShootNodes['endJoin']>) => Promise<void>;
  /** @throws TypeError for unusable join data */
  readonly render: (join: JoinData, nodeName: string) => string;
  readonly features: ReadonlySet<GardenFeature>;
  readonly wake: WakeUp<ServerId>;
  /** Unix time in ms. */
  readonly now: () => number;
}

export interface IssuedJoinCommand {
  /** Contains the token. Must only be sent to the caller. */
  readonly joinCommand: string;
  readonly nodeName: string;
  readonly cluster: string;
  readonly expiresAt: Date;
}

/** Time limit in ms. Short because a request waits for it. */
const ISSUE_MS_MAX = 15_000;
const { joinCommandSeconds: tokenSeconds, joinCommandsPerServerPerHour: perHour } = clusterLimits;

export type JoinCommandService = ReturnType<typeof joinCommandService>;

/**
 * Issues commands that turn machines into nodes, and stores none. The audit entry is written first, so every token has
 * one. After the token was created, the service checks again that the machine may join. A release after that check
 * deletes the token.
 */
export function joinCommandService({ store, joinData, endJoin, render, features, wake, now }: JoinCommandDeps) {
  const make = async (scope: RequestScope, { shoot, nodeName, architecture }: JoiningMachine): Promise<string> => {
    const request = { nodeName, architecture, tokenSeconds };
    return render(await joinData(scope, shoot, request, AbortSignal.timeout(ISSUE_MS_MAX)), nodeName);
  };

  return {
    /**
     * @throws Problem `not_found`, `unsupported_by_garden`, `server_not_joining`, `cluster_not_ready`,
     *   `cluster_deleting`,
     *   `rate_limit_exceeded`, `upstream_unavailable`
     */
    async issue(caller: Caller, ref: string, serverId: number): Promise<IssuedJoinCommand> {
      const { entryId, machine } = await store.withServer(caller, { ref, serverId }, async (tx) => {
        if (tx.server === null) throw notFound();
        const joining = joiningMachine(tx.server, features);
        await checkPerHour(
          tx,
          perHour,
          `The limit is ${perHour} join commands for one server within an hour. Run a command that you have, or wait.`,
        );
        return { entryId: await tx.recordIssue(joining), machine: joining };
      });
      // Whole seconds like the token's expiry, rounded down: never later than the token ends.
      const expiresAt = new Date((Math.floor(now() / 1_000) + tokenSeconds) * 1_000);
      let joinCommand: string;
      try {
        joinCommand = await make(caller.scope, machine);
      } catch (error) {
        if (isSurelyNotIssued(error)) await store.recordOutcome(caller, entryId, { issued: false });
        throw problemOf(error);
      }
      if (!(await store.expect(caller, machine))) {
        // The token was never handed out. If its deletion fails, it expires on its own.
        await endJoin(caller.scope, machine.shoot, machine.nodeName).catch(() => undefined);
        await store.recordOutcome(caller, entryId, { issued: false });
        throw notJoining('The server was released from its node pool during the request. Read it again, then decide.');
      }
      await store.recordOutcome(caller, entryId, { issued: true, expiresAt });
      wake(machine.id);
      const { nodeName, cluster } = machine;
      return { joinCommand, nodeName, cluster, expiresAt };
    },
  };
}

function problemOf(cause: unknown): unknown {
  if (!(cause instanceof GardenError)) return cause;
  if (cause.kind === 'not_found') {
    const detail = 'The cluster has no managed pool of the machine’s architecture to take the configuration from.';
    return new Problem('cluster_not_ready', detail, { cause });
  }
  if (cause.denial !== null) {
    const place = cause.fromShoot ? 'cluster' : 'garden';
    return new Problem('permission_denied', denialSentence(cause.denial, 'access to the cluster', place), { cause });
  }
  return new Problem(
    'upstream_unavailable',
    'The cluster did not create a token for the machine. Try again in a moment.',
    {
      retryAfterSeconds: cause.retryAfterSeconds ?? 5,
      cause,
    },
  );
}
