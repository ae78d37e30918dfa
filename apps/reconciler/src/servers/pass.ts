import { joinsByCommand, type ServerId } from '@corral/contracts';
import { rebuiltSinceBackup } from '@corral/database';
import type { ProjectClient, Projects } from '@corral/hcloud';
import type { Log } from '@corral/service';
import type { HoldStore } from '../loop/hold.js';
import { heldWait } from '../loop/hold.js';
import type { LeaseStore, PassLease } from '../loop/lease.js';
import { type KeptPassLease, keepLease } from '../loop/lease.js';
import { type OpenToken, openOrReport } from '../loop/provider-token.js';
import type { PassOutcome } from '../loop/sweep.js';
import { decide } from './decide/decide.js';
import { findingAboutServer, isReading, readStepWhileHeld } from './held.js';
import {
  type FailureContext,
  failed,
  judgeClusterFailure,
  judgeProviderFailure,
  resting,
  waitingSince,
} from './judge.js';
import { nothingSeen, type Seen, type Step, type Verdict, type Wait, type WantedServer } from './model.js';
import { type PerformDeps, type Performed, performStep } from './perform.js';
import type { ServerStore } from './store.js';

interface ServerPassDeps extends PerformDeps {
  readonly leases: LeaseStore<ServerId>;
  readonly store: ServerStore;
  readonly projects: Projects;
  /** During a hold passes observe, and change nothing. */
  readonly holds: HoldStore;
  readonly openToken: OpenToken;
  readonly leaseMs: number;
  readonly random?: () => number;
  readonly log: Log;
}

export interface ServerPassResult {
  readonly end: PassOutcome;
  readonly steps: readonly Step['do'][];
}

/** Enough to detach a server from a cluster and start its rebuild in one pass. More means that others undo the steps. */
const STEPS_MAX = 24;
const RESTLESS_MS = 5_000;
const UNREADABLE_MS = 60_000;
/** Interval of passes during a hold. */
const HELD_MS = 60_000;

/**
 * One pass over an adopted server: takes the lease, then decides and acts until nothing is left to do, and records the verdict.
 * After a crash, the next pass reconstructs the state from the row and the provider.
 *
 * @throws when our own database fails. The server is due again when its lease ends
 */
export const serverPass =
  (deps: ServerPassDeps) =>
  async (id: ServerId, stop: AbortSignal): Promise<ServerPassResult> => {
    const answer = await deps.leases.takeLease(id, deps.leaseMs);
    if (answer.kind !== 'taken') return { end: answer, steps: [] };
    const kept = keepLease(deps, answer.lease, deps.leaseMs, stop);
    try {
      return await runPass(deps, answer.lease, kept);
    } finally {
      kept.end();
    }
  };

async function runPass(
  deps: ServerPassDeps,
  lease: PassLease<ServerId>,
  kept: KeptPassLease,
): Promise<ServerPassResult> {
  const steps: Step['do'][] = [];
  const read = await deps.store.read(lease);
  if (read === null) return { end: { kind: 'overtaken' }, steps };
  const running = { lease, kept, steps };
  // A machine that joins by command involves no provider, so no token is needed.
  if (joinsByCommand(read.wanted.kind)) return { end: await takeSteps(deps, { ...running, project: null }), steps };
  const token = openOrReport(deps, read.token);
  if (token === null) {
    const hold = (await deps.holds.find()) ?? read.wanted.unreadHold;
    if (hold !== null) {
      const message = 'The token of its connection cannot be decrypted, so the server was not read.';
      await deps.holds.note(hold, 'AdoptedServer', read.wanted.id, { finding: 'unread', message });
      return { end: await finish(deps, lease, read, nothingSeen, held(read.wanted)), steps };
    }
    return { end: await finish(deps, lease, read, nothingSeen, unreadable(read.wanted)), steps };
  }
  const end = await deps.projects.within(token, (project) => takeSteps(deps, { ...running, project }));
  return { end, steps };
}

type Failed = Extract<Performed, { kind: 'failed' | 'unanswered' | 'paused' }>;

interface RunningPass {
  readonly lease: PassLease<ServerId>;
  readonly kept: KeptPassLease;
  readonly steps: Step['do'][];
  readonly project: ProjectClient | null;
}

async function takeSteps(deps: ServerPassDeps, { lease, kept, steps, project }: RunningPass): Promise<PassOutcome> {
  const { times, random = Math.random } = deps;
  for (let seen: Seen = nothingSeen; ; ) {
    if (kept.isOvertaken()) return { kind: 'overtaken' };
    if (kept.signal.aborted) return stopped(deps, lease);
    const read = await deps.store.read(lease);
    if (read === null) return { kind: 'overtaken' };
    const { wanted, now } = read;
    let step = decide(wanted, seen, now, times);
    const installationHold = isReading(step) ? null : await deps.holds.find();
    const hold = installationHold ?? (isReading(step) ? null : wanted.unreadHold);
    if (hold !== null) {
      const next = readStepWhileHeld(seen, project !== null);
      if (next === null) {
        const found = findingAboutServer(wanted, seen, step.do, hold);
        await deps.holds.note(hold, 'AdoptedServer', wanted.id, found);
        if (installationHold !== null) return finish(deps, lease, read, seen, held(wanted));
        if (found.finding === 'rebuilt_since') return finish(deps, lease, read, seen, rebuiltSince);
        if (!(await deps.store.recordRead(lease))) return { kind: 'overtaken' };
        continue;
      }
      step = next;
    }
    if (step.do === 'finish') return finish(deps, lease, read, seen, step.verdict);
    if (steps.length === STEPS_MAX) {
      deps.log.warn('server pass does not converge', { id: wanted.id, steps });
      return finish(deps, lease, read, seen, restless(wanted));
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
        // A call aborted by our own shutdown says nothing.
        if (performed.kind !== 'failed' && kept.signal.aborted) break;
        // Read the row again, because the step may have written to it.
        const after = await deps.store.read(lease);
        if (after === null) return { kind: 'overtaken' };
        const context = { wanted: after.wanted, now: after.now, times, random: random() };
        return finish(deps, lease, after, seen, judged(deps, context, step.do, performed));
      }
    }
  }
}

function judged({ log }: ServerPassDeps, context: FailureContext, step: Step['do'], failed: Failed): Verdict {
  const { id } = context.wanted;
  if (failed.kind === 'failed') {
    log.warn('provider failed a step', { id, step, ...failed.failure });
    return judgeProviderFailure(context, step, failed.failure);
  }
  if (failed.kind === 'unanswered') log.warn('cluster failed a step', { id, step, error: failed.error });
  return judgeClusterFailure(context, step, failed);
}

async function finish(
  { store }: ServerPassDeps,
  lease: PassLease<ServerId>,
  { wanted, now }: { readonly wanted: WantedServer; readonly now: Date },
  seen: Seen,
  verdict: Verdict,
): Promise<PassOutcome> {
  if (seen.server !== null) await store.recordAddresses(lease, wanted, seen.server);
  if (verdict.doubtsToken) await store.requestVerification(lease, wanted.connection.id);
  const name = seen.server === null || seen.server === 'absent' ? null : seen.server.name;
  // A node that is joining or leaving does not count as ready.
  const nodeReady = verdict.nodeReady ?? (verdict.phase === 'Joined' ? nodeReadyIn(seen) : null);
  const waiting = waitingSince(verdict.waiting, wanted.waiting, now);
  const released = await store.recordPass(lease, wanted, { ...verdict, nodeReady }, { name, waiting });
  if (released.kind === 'overtaken') return released;
  return { kind: 'finished', inMs: released.again ? 0 : verdict.nextPassMs };
}

/** Null when the node was not read. */
const nodeReadyIn = ({ node }: Seen): boolean | null => (node === null ? null : node !== 'absent' && node.isReady);

async function stopped({ leases }: ServerPassDeps, lease: PassLease<ServerId>): Promise<PassOutcome> {
  const released = await leases.release(lease, { nextPassMs: 0 });
  return released.kind === 'overtaken' ? released : { kind: 'stopped' };
}

/** Before the rebuild request the adoption fails, and the team can fix it. Afterwards it continues once the token is readable. */
function unreadable(wanted: WantedServer): Verdict {
  const message = 'The stored token of the connection cannot be decrypted. Enter it in the connection again.';
  const isUnasked = wanted.phase === 'Adopting' && wanted.rebuildAskedAt === null;
  if (isUnasked && wanted.deregisterRequestedAt === null) return failed(wanted, 'server_token_rejected', message);
  return postponed(wanted, { reason: 'TokenUnreadable', message }, UNREADABLE_MS);
}

const restlessSentence = 'Another party is changing the server, or its provider is slow. The service retries.';
const restless = (wanted: WantedServer): Verdict =>
  postponed(wanted, { reason: 'Retrying', message: restlessSentence }, RESTLESS_MS);

const held = (wanted: WantedServer): Verdict => ({
  ...postponed(wanted, heldWait, HELD_MS),
  message: wanted.message,
});

/** The verdict as at the end of a hold: only a new acknowledgement permits a rebuild. */
const rebuiltSince: Verdict = {
  ...resting('Failed', rebuiltSinceBackup, { to: 'failed', code: 'server_changed', message: rebuiltSinceBackup }, null),
  nodeReady: false,
  hasLeftCluster: true,
};

const postponed = ({ phase }: WantedServer, waiting: Wait, inMs: number): Verdict => ({
  ...resting(phase, waiting.message, { to: 'stay' }, inMs),
  waiting,
});
