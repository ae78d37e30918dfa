import { joinsByCommand } from '@corral/contracts';
import type { ProjectClient, Projects } from '@corral/hcloud';
import type { Log } from '@corral/service';
import { type KeptLease, keepLease } from '../loop/keep-lease.js';
import type { Lease, LeaseStore } from '../loop/lease-store.js';
import type { TurnOutcome } from '../loop/plan-next.js';
import { type OpenToken, openOrTell } from '../loop/provider-token.js';
import { decide } from './decide.js';
import { judgeFailure } from './judge-failure.js';
import { judgeGarden, type Stand } from './judge-garden.js';
import { nothingSeen, type Seen, type Step, type Verdict, type WantedServer } from './model.js';
import { type PerformDeps, type Performed, performStep } from './perform.js';
import type { ServerStore } from './server-store.js';
import { failed, resting } from './verdicts.js';
import { type Wait, waitingSince } from './wait-reasons.js';

export interface ServerPassDeps extends PerformDeps {
  readonly leases: Pick<LeaseStore, 'takeLease' | 'renewLease' | 'release'>;
  readonly store: ServerStore;
  readonly projects: Projects;
  readonly openToken: OpenToken;
  readonly leaseMs: number;
  readonly random?: () => number;
  readonly log: Log;
}

export interface ServerPassResult {
  readonly end: TurnOutcome;
  readonly steps: readonly Step['do'][];
}

/** Enough to take a server out of a cluster and to begin its rebuild in one pass. More means that somebody else undoes the steps. */
const STEPS_MAX = 24;
const RESTLESS_MS = 5_000;
const UNREADABLE_MS = 60_000;

/**
 * One pass over an adopted server: takes its turn, then decides and acts until there is nothing left to do just now, and
 * records what clients are told. Whatever it was doing when it died, the next one finds out from the row and the provider.
 *
 * @throws when our own database does: the server is due again when its lease ends
 */
export const serverPass =
  (deps: ServerPassDeps) =>
  async (id: string, stop: AbortSignal): Promise<ServerPassResult> => {
    const answer = await deps.leases.takeLease(id, deps.leaseMs);
    if (answer.kind !== 'taken') return { end: answer, steps: [] };
    const kept = keepLease(deps, answer.lease, deps.leaseMs, stop);
    try {
      return await runTurn(deps, answer.lease, kept);
    } finally {
      kept.end();
    }
  };

async function runTurn(deps: ServerPassDeps, lease: Lease, kept: KeptLease): Promise<ServerPassResult> {
  const steps: Step['do'][] = [];
  const read = await deps.store.read(lease);
  if (read === null) return { end: { kind: 'overtaken' }, steps };
  const turn = { lease, kept, steps };
  // About a machine that joins by command no provider is asked, so no token is needed.
  if (joinsByCommand(read.wanted.kind)) return { end: await takeSteps(deps, { ...turn, project: null }), steps };
  const token = openOrTell(deps, read.token);
  if (token === null) {
    return { end: await settle(deps, lease, read, nothingSeen, unreadable(read.wanted)), steps };
  }
  const end = await deps.projects.within(token, (project) => takeSteps(deps, { ...turn, project }));
  return { end, steps };
}

type Failed = Extract<Performed, { kind: 'failed' | 'unanswered' | 'paused' }>;

interface Turn {
  readonly lease: Lease;
  readonly kept: KeptLease;
  readonly steps: Step['do'][];
  readonly project: ProjectClient | null;
}

async function takeSteps(deps: ServerPassDeps, { lease, kept, steps, project }: Turn): Promise<TurnOutcome> {
  const { times, random = Math.random } = deps;
  for (let seen: Seen = nothingSeen; ; ) {
    if (kept.isOvertaken()) return { kind: 'overtaken' };
    if (kept.signal.aborted) return stopped(deps, lease);
    const read = await deps.store.read(lease);
    if (read === null) return { kind: 'overtaken' };
    const { wanted, now } = read;
    const step = decide(wanted, seen, now, times);
    if (step.do === 'settle') return settle(deps, lease, read, seen, step.verdict);
    if (steps.length === STEPS_MAX) {
      deps.log.warn('server pass finds no rest', { id: wanted.id, steps });
      return settle(deps, lease, read, seen, restless(wanted));
    }
    steps.push(step.do);
    const performed = await performStep(deps)({ lease, wanted, seen, project, signal: kept.signal }, step);
    switch (performed.kind) {
      case 'done':
        seen = performed.seen;
        break;
      case 'changed':
        seen = nothingSeen;
        break;
      case 'forgotten':
        return performed;
      case 'failed':
      case 'unanswered':
      case 'paused': {
        // A call that our own end cut short says nothing.
        if (performed.kind !== 'failed' && kept.signal.aborted) break;
        // The row as it is now: the step may have written to it.
        const after = await deps.store.read(lease);
        if (after === null) return { kind: 'overtaken' };
        const stand = { wanted: after.wanted, now: after.now, times, random: random() };
        return settle(deps, lease, after, seen, judged(deps, stand, step.do, performed));
      }
    }
  }
}

function judged({ log }: ServerPassDeps, stand: Stand, step: Step['do'], failed: Failed): Verdict {
  const { id } = stand.wanted;
  if (failed.kind === 'failed') {
    log.warn('provider did not do it', { id, step, ...failed.failure });
    return judgeFailure(stand, step, failed.failure);
  }
  if (failed.kind === 'unanswered') log.warn('cluster did not do it', { id, step, error: failed.error });
  return judgeGarden(stand, step, failed);
}

async function settle(
  { store }: ServerPassDeps,
  lease: Lease,
  { wanted, now }: Pick<Stand, 'wanted' | 'now'>,
  seen: Seen,
  verdict: Verdict,
): Promise<TurnOutcome> {
  if (verdict.doubtsToken) await store.requestVerification(lease, wanted.connection.id);
  const name = seen.server === null || seen.server === 'absent' ? null : seen.server.name;
  // A node that is on its way in or out is none to count on.
  const nodeReady = verdict.nodeReady ?? (verdict.phase === 'Joined' ? nodeReadyIn(seen) : null);
  const waiting = waitingSince(verdict.waiting, wanted.waiting, now);
  const released = await store.settle(lease, wanted, { ...verdict, nodeReady }, { name, waiting });
  if (released.kind === 'overtaken') return released;
  return { kind: 'settled', inMs: released.again ? 0 : verdict.lookAgainMs };
}

/** Null for a node that was not looked at. */
const nodeReadyIn = ({ node }: Seen): boolean | null => (node === null ? null : node !== 'absent' && node.isReady);

async function stopped({ leases }: ServerPassDeps, lease: Lease): Promise<TurnOutcome> {
  const released = await leases.release(lease, { lookAgainMs: 0 });
  return released.kind === 'overtaken' ? released : { kind: 'stopped' };
}

/** Nothing was asked for yet and nobody can: the team can mend that. What was asked for goes on once it can be read. */
function unreadable(wanted: WantedServer): Verdict {
  const message = 'The stored token of the connection cannot be decrypted. Enter it in the connection again.';
  const isUnasked = wanted.phase === 'Adopting' && wanted.rebuildAskedAt === null;
  if (isUnasked && wanted.deregisterRequestedAt === null) return failed(wanted, 'server_token_rejected', message);
  return held(wanted, { reason: 'TokenUnreadable', message }, UNREADABLE_MS);
}

const restlessSentence = 'Another party is changing the server, or its provider is slow. The service retries.';
const restless = (wanted: WantedServer): Verdict =>
  held(wanted, { reason: 'Retrying', message: restlessSentence }, RESTLESS_MS);

const held = ({ phase }: WantedServer, waiting: Wait, inMs: number): Verdict => ({
  ...resting(phase, waiting.message, { to: 'stay' }, inMs),
  waiting,
});
