import { clusterLimits } from '@corral/contracts';
import { denialSentence, GardenError, renderJoinCommand } from '@corral/garden';
import { recordAudit } from '../audit/record-audit.js';
import type { Caller } from '../changes/caller.js';
import { checkPerHour, isSurelyNotIssued } from '../kubeconfigs/credentials.js';
import { recordIssueOutcome } from '../kubeconfigs/store.js';
import { found, Problem } from '../problem.js';
import type { Services } from '../services.js';
import { expectMachine, findJoiningServer } from './join-command-store.js';
import { type JoiningMachine, joiningMachine, notJoining } from './rules.js';

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

const action = 'server.join_command';

/**
 * Issues a command that turns a machine into a node, and stores none. The audit entry is written first, so every token has
 * one. After the token was created, the service checks again that the machine may join. A release after that check
 * deletes the token.
 *
 * @throws Problem `not_found`, `unsupported_by_garden`, `server_not_joining`, `cluster_not_ready`, `cluster_deleting`,
 *   `rate_limit_exceeded`, `upstream_unavailable`
 */
export async function issueJoinCommand(
  services: Services,
  caller: Caller,
  ref: string,
  serverId: number,
): Promise<IssuedJoinCommand> {
  const { prisma, upstreams, now, wake } = services;
  const { entryId, machine } = await admitIssue(services, caller, ref, serverId);
  // Whole seconds like the token's expiry, rounded down: never later than the token ends.
  const expiresAt = new Date((Math.floor(now() / 1_000) + tokenSeconds) * 1_000);
  let joinCommand: string;
  try {
    joinCommand = await makeCommand(services, caller, machine);
  } catch (error) {
    if (isSurelyNotIssued(error)) await recordIssueOutcome(prisma, caller, entryId, { issued: false });
    throw problemOf(error);
  }
  if (!(await expectMachine(prisma, caller, machine))) {
    // The token was never handed out. If its deletion fails, it expires on its own.
    await upstreams.endJoin(caller.scope, machine.shoot, machine.nodeName).catch(() => undefined);
    await recordIssueOutcome(prisma, caller, entryId, { issued: false });
    throw notJoining('The server was released from its node pool during the request. Read it again, then decide.');
  }
  await recordIssueOutcome(prisma, caller, entryId, { issued: true, expiresAt });
  wake.server(machine.id);
  const { nodeName, cluster } = machine;
  return { joinCommand, nodeName, cluster, expiresAt };
}

/** Checks that a command may be issued, and records who is about to get it. */
function admitIssue(
  { changeTeam, config }: Services,
  caller: Caller,
  ref: string,
  serverId: number,
): Promise<{ entryId: bigint; machine: JoiningMachine }> {
  return changeTeam(caller, async (tx, now) => {
    const server = found(await findJoiningServer(tx, caller, ref, serverId));
    const machine = joiningMachine(server, config.gardenFeatures);
    const detail = `The limit is ${perHour} join commands for one server within an hour. Run a command that you have, or wait.`;
    await checkPerHour(tx, caller, { action, targetId: server.id }, { now, perHour, detail });
    const target = { kind: 'AdoptedServer', id: machine.id, name: String(serverId) };
    const { cluster, nodeName } = machine;
    return { entryId: await recordAudit(tx, caller, { action, target, detail: { cluster, nodeName } }), machine };
  });
}

async function makeCommand(
  { upstreams }: Services,
  { scope }: Caller,
  { shoot, nodeName, architecture }: JoiningMachine,
): Promise<string> {
  const request = { nodeName, architecture, tokenSeconds };
  const signal = AbortSignal.timeout(ISSUE_MS_MAX);
  return renderJoinCommand(await upstreams.joinData(scope, shoot, request, signal), nodeName);
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
