import { clusterLimits } from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import { GardenError, type JoinData, type ShootNodes } from '@corral/garden';
import { notFound, Problem } from '../problem.js';
import { awaited, type Caller } from './caller.js';
import { type JoiningMachine, type JoiningServer, joiningMachine, notJoining } from './joining-machine.js';
import { type IssueOutcome, isSurelyNotIssued } from './kubeconfigs.js';
import { checkPerHour, type Issues } from './per-hour.js';

/** What an issue needs of the store, while the changes of the team are held. */
export interface JoinCommandTransaction extends Issues {
  readonly server: JoiningServer | null;
  /** Writes down who is about to be given a credential. @returns the id of the audit entry */
  recordIssue(machine: JoiningMachine): Promise<bigint>;
}

export interface JoinCommandStore {
  withServer<T>(
    caller: Caller,
    of: { readonly ref: string; readonly serverId: number },
    work: (tx: JoinCommandTransaction) => Promise<T>,
  ): Promise<T>;
  /**
   * Begins anew to wait for the machine, which is looked for at once.
   *
   * @returns false when it is not to join any more, or not as what it was to
   */
  expect(caller: Caller, machine: JoiningMachine): Promise<boolean>;
  /** Completes the audit entry with what became of the issue. */
  recordOutcome(caller: Caller, entryId: bigint, outcome: IssueOutcome): Promise<void>;
}

export interface JoinCommandDeps {
  readonly store: JoinCommandStore;
  /** The clusters: each makes its own tokens. */
  readonly nodes: Pick<ShootNodes, 'joinData' | 'endJoin'>;
  /** @throws TypeError for join data of which no command can be made */
  readonly render: (join: JoinData, nodeName: string) => string;
  readonly features: ReadonlySet<GardenFeature>;
  readonly wake: (serverId: string) => Promise<void>;
  /** Unix time in ms. */
  readonly now: () => number;
}

export interface IssuedJoinCommand {
  /** Holds the token: goes to whoever asked, and nowhere else. */
  readonly joinCommand: string;
  readonly nodeName: string;
  readonly cluster: string;
  readonly expiresAt: Date;
}

/** Somebody waits for it. */
const ISSUE_MS_MAX = 15_000;
const { joinCommandSeconds: tokenSeconds, joinCommandsPerServerPerHour: perHour } = clusterLimits;

export type JoinCommandService = ReturnType<typeof joinCommandService>;

/**
 * Issues commands that make machines nodes, and keeps none. The audit entry comes before the token, so there is no token
 * without one. Whether the machine may still join is looked at once more when the token is there: whoever lets go of the
 * machine after that deletes the token.
 */
export function joinCommandService({ store, nodes, render, features, wake, now }: JoinCommandDeps) {
  const make = async ({ shoot, nodeName, architecture }: JoiningMachine): Promise<string> => {
    const request = { nodeName, architecture, tokenSeconds };
    return render(await nodes.joinData(shoot, request, AbortSignal.timeout(ISSUE_MS_MAX)), nodeName);
  };

  return {
    /**
     * @throws Problem `not_found`, `unsupported_by_garden`, `server_not_joining`, `cluster_not_ready`, `cluster_deleting`,
     *   `rate_limit_exceeded`, `upstream_unavailable`
     */
    async issue(caller: Caller, ref: string, serverId: number): Promise<IssuedJoinCommand> {
      const { entryId, machine } = await store.withServer(caller, { ref, serverId }, async (tx) => {
        if (tx.server === null) throw notFound();
        const joining = joiningMachine(tx.server, features);
        await checkPerHour(
          tx,
          perHour,
          `The limit is ${perHour} join commands per server and hour. Run a command that you have, or wait.`,
        );
        return { entryId: await tx.recordIssue(joining), machine: joining };
      });
      // Told in whole seconds, as the token has it, and never later than it ends.
      const expiresAt = new Date((Math.floor(now() / 1_000) + tokenSeconds) * 1_000);
      let joinCommand: string;
      try {
        joinCommand = await awaited(caller, () => make(machine));
      } catch (error) {
        if (isSurelyNotIssued(error)) await store.recordOutcome(caller, entryId, { issued: false });
        throw problemOf(error);
      }
      if (!(await store.expect(caller, machine))) {
        // Nobody has seen it. Should this fail, it ends by itself.
        await nodes.endJoin(machine.shoot, machine.nodeName).catch(() => undefined);
        await store.recordOutcome(caller, entryId, { issued: false });
        throw notJoining('The server was released from its node pool during the request. Read it again, then decide.');
      }
      await store.recordOutcome(caller, entryId, { issued: true, expiresAt });
      await wake(machine.id);
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
  return new Problem(
    'upstream_unavailable',
    'The cluster did not create a token for the machine. Try again in a moment.',
    {
      retryAfterSeconds: cause.retryAfterSeconds ?? 5,
      cause,
    },
  );
}
