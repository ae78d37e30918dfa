import type { ClusterId } from '@corral/contracts';
import { isDatabaseAway } from '@corral/database';
import { type GardenClient, GardenError } from '@corral/garden';
import type { Log } from '@corral/service';
import type { Authorities } from '../garden/catalogue.js';
import { ABSENT } from '../garden/follow-shoots.js';
import { type GardenReport, gardenReportOf } from '../garden/gate.js';
import type { HoldStore } from '../loop/hold.js';
import type { LeaseStore, PassLease, Released } from '../loop/lease.js';
import { type KeptPassLease, keepLease } from '../loop/lease.js';
import type { PassOutcome } from '../loop/sweep.js';
import { classifyFailure, type Failure } from './classify.js';
import { decide, isKept } from './decide/decide.js';
import type { Learned } from './decide/shoot-runs.js';
import { findingAboutCluster } from './held.js';
import { completedVerdict } from './judge/complete-verdict.js';
import { judge } from './judge/judge.js';
import { judgeFailure } from './judge/judge-failure.js';
import { keptWait, unchangedVerdict, waitingOf, waitWhileHeld, withWaiting } from './judge/waiting.js';
import type { Desired, Observed, Step, Verdict } from './model.js';
import { observedFrom, observedHash } from './observe.js';
import { type PerformDeps, performStep } from './perform.js';
import { withRaisedImages } from './raised-images.js';
import type { RecordStore } from './record.js';
import { afterwards, type DesiredStore, type TimedRead, timedRead } from './store.js';

export interface PassDeps extends PerformDeps {
  readonly garden: PerformDeps['garden'] & GardenClient;
  readonly leases: LeaseStore<ClusterId>;
  readonly desired: DesiredStore;
  readonly records: RecordStore;
  /** During a hold passes observe, and change nothing. */
  readonly holds: HoldStore;
  readonly authorities: Authorities;
  readonly leaseMs: number;
  readonly log: Log;
}

/** How a pass ended. `inMs`: milliseconds until the next pass, or null when none is needed before the next event. */
export type PassEnd =
  | PassOutcome
  | {
      readonly kind: 'failed';
      readonly failure: Failure['kind'];
      readonly inMs: number | null;
      readonly error: unknown;
    };

export interface PassResult {
  readonly end: PassEnd;
  /** Steps taken in the garden, in order. */
  readonly steps: readonly Step['do'][];
  /** What the calls revealed about the garden's health. Null without a call. */
  readonly report: GardenReport | null;
}

/** Enough to create a cluster in one pass. More means that steps undo each other. */
const STEPS_MAX = 8;
/** Delay of the next pass after one that did not finish, so that other clusters run first. */
const RESTLESS_MS = 1_000;
/** A hold that was asked about less than this many milliseconds ago is not asked about again. */
const HOLD_FRESH_MS = 250;
/** Interval of passes over a cluster that a hold keeps waiting. */
const HELD_MS = 60_000;

/**
 * One pass over a cluster: takes the lease, then observes, decides and acts until nothing is left to do, and records the
 * verdict. It receives only the key, and each of its writes is conditional on its lease.
 *
 * @throws when our own database fails. The cluster is due again when its lease ends
 */
export const clusterPass =
  (deps: PassDeps) =>
  async (clusterId: ClusterId, stop: AbortSignal): Promise<PassResult> => {
    const askedAt = performance.now();
    const answer = await deps.leases.takeLease(clusterId, deps.leaseMs);
    if (answer.kind !== 'taken') return { end: answer, steps: [], report: null };
    const kept = keepLease(deps, answer.lease, deps.leaseMs, stop);
    try {
      return await runPass(deps, answer.lease, kept, timedRead(askedAt, await deps.desired.readDesired(answer.lease)));
    } finally {
      kept.end();
    }
  };

/** State of a running pass. A failure is judged by it. */
interface PassState {
  wanted: Desired | null;
  seen: Observed | null;
  /** What the answers to writes have taught, until it is recorded. */
  learned: Learned | null;
  /** The garden has answered a read. */
  wasRead: boolean;
  now: Date;
  readonly steps: Step['do'][];
}

async function runPass(
  deps: PassDeps,
  lease: PassLease<ClusterId>,
  kept: KeptPassLease,
  first: TimedRead | null,
): Promise<PassResult> {
  const state: PassState = { wanted: null, seen: null, learned: null, wasRead: false, now: new Date(0), steps: [] };
  try {
    const end = await takeSteps(deps, lease, kept.signal, state, first);
    const wasAsked = state.steps.length > 0 || state.wasRead;
    return { end, steps: state.steps, report: wasAsked ? { kind: 'fine' } : null };
  } catch (error) {
    const end = await endFailed(deps, lease, kept, state, error);
    return { end, steps: state.steps, report: end.kind === 'failed' ? gardenReportOf(error) : null };
  }
}

/** The row must have what was learned before it is read. Null when overtaken. */
async function readAgain(
  { desired, records }: PassDeps,
  lease: PassLease<ClusterId>,
  state: PassState,
): Promise<TimedRead | null> {
  if (state.learned !== null && !(await records.recordLearned(lease, state.learned))) return null;
  state.learned = null;
  const askedAt = performance.now();
  return timedRead(askedAt, await desired.readDesired(lease));
}

async function takeSteps(
  deps: PassDeps,
  lease: PassLease<ClusterId>,
  signal: AbortSignal,
  state: PassState,
  first: TimedRead | null,
): Promise<PassEnd> {
  for (let timed = first; ; timed ??= await readAgain(deps, lease, state)) {
    signal.throwIfAborted();
    if (timed === null) return { kind: 'overtaken' };
    const { desired: read, askedAt } = timed;
    state.now = read.now;
    state.wanted = read.wanted;
    state.seen ??= await lookAtShoot(deps, read.wanted, signal);
    const { seen } = state;
    state.wasRead ||= read.wanted.namespace !== null;
    const ours = await recognised(deps, lease, read.wanted, seen);
    if (ours === null) return { kind: 'overtaken' };
    const wanted = await withRaisedImages(deps.catalogue, ours, seen, read.now, signal);
    state.wanted = wanted;

    const step = decide(wanted, seen, read.now);
    // Asked again before anything is changed if reading the Shoot took a while.
    const isAsked = step.do === 'finish' || performance.now() - askedAt < HOLD_FRESH_MS;
    const hold = isAsked ? read.hold : await deps.holds.find();
    if (hold !== null) {
      await deps.holds.note(hold, 'Cluster', wanted.id, findingAboutCluster(wanted, seen, step.do));
      if (step.do !== 'finish') return finishHeld(deps, lease, signal, state, wanted);
    }
    if (step.do === 'finish') {
      const waiting = isKept(wanted) && !wanted.isDeleting ? keptWait(wanted, read.now) : null;
      const verdict = withWaiting(judge(wanted, seen, read.now), waiting, wanted, read.now);
      return finish(deps, lease, signal, state, verdict);
    }
    if (state.steps.length === STEPS_MAX) {
      deps.log.error('pass does not converge', { clusterId: wanted.id, steps: state.steps });
      return finish(deps, lease, signal, state, { ...judge(wanted, seen, read.now), nextPassMs: RESTLESS_MS });
    }
    state.steps.push(step.do);
    const performed = await performStep(deps, { lease, wanted, seen, now: read.now, signal }, step);
    switch (performed.kind) {
      case 'done':
        state.seen = performed.seen;
        timed = performed.learned === undefined ? null : afterwards(timed, wanted, performed.learned);
        if (performed.learned !== undefined) state.learned = performed.learned;
        break;
      case 'waiting':
        return finish(deps, lease, signal, state, { ...judge(wanted, seen, read.now), nextPassMs: performed.ms });
      case 'overtaken':
      case 'forgotten':
        return performed;
    }
  }
}

/** Before the Project is ready there is no Shoot to read. */
async function lookAtShoot(
  { garden }: Pick<PassDeps, 'garden'>,
  wanted: Desired,
  signal: AbortSignal,
): Promise<Observed> {
  const { namespace, shootName: name } = wanted;
  if (namespace === null) return { kind: 'absent' };
  return observedFrom(wanted, await garden.readShoot({ namespace, name }, signal));
}

/** Records the UID of a Shoot that was created by an apply with a lost response. Null when overtaken. */
async function recognised(
  { records }: PassDeps,
  lease: PassLease<ClusterId>,
  wanted: Desired,
  seen: Observed,
): Promise<Desired | null> {
  if (seen.kind !== 'present' || wanted.known.shootUid !== null) return wanted;
  const shootUid = seen.shoot.metadata.uid;
  if (!(await records.recordLearned(lease, { shootUid }))) return null;
  return { ...wanted, known: { ...wanted.known, shootUid } };
}

/** The verdict stays, and says that the declaration waits. */
function finishHeld(
  deps: PassDeps,
  lease: PassLease<ClusterId>,
  signal: AbortSignal,
  state: PassState,
  wanted: Desired,
): Promise<PassEnd> {
  const verdict = withWaiting(unchangedVerdict(wanted, HELD_MS), waitWhileHeld(wanted, state.now), wanted, state.now);
  return finish(deps, lease, signal, state, verdict);
}

async function finish(
  deps: PassDeps,
  lease: PassLease<ClusterId>,
  signal: AbortSignal,
  state: PassState,
  verdict: Verdict,
): Promise<PassEnd> {
  const { records } = deps;
  await doubtToken(records, lease, state, verdict);
  const completed = await completedVerdict(deps, state, verdict, signal);
  const released = await records.recordPass(lease, { ...recordOf(state, completed), failures: 0 });
  return endOf(released, { kind: 'finished', inMs: verdict.nextPassMs });
}

/** Requests a verification when the garden reports that the provider refuses the token. */
async function doubtToken(
  records: RecordStore,
  lease: PassLease<ClusterId>,
  { wanted }: PassState,
  { conditions }: Verdict,
) {
  const isRefused = conditions.some(({ type, status }) => type === 'ConnectionReady' && status === 'False');
  if (isRefused && wanted?.connection.phase === 'Ready') {
    await records.requestVerification(lease, wanted.connection.id);
  }
}

function recordOf({ wanted, seen, learned }: PassState, verdict: Verdict) {
  return {
    verdict,
    generation: wanted?.generation ?? 0,
    operationId: wanted?.operation?.id ?? wanted?.failedOperationId ?? null,
    learned,
    observedHash: hashOf(seen),
  };
}

function hashOf(seen: Observed | null): string | null {
  if (seen === null) return null;
  return seen.kind === 'present' ? observedHash(seen.shoot) : seen.kind === 'absent' ? ABSENT : 'foreign';
}

/** A cluster that became due during the pass gets the next pass immediately. */
function endOf<E extends { kind: 'finished' | 'failed'; inMs: number | null }>(released: Released, end: E) {
  if (released.kind === 'overtaken') return { kind: 'overtaken' } as const;
  return released.again ? { ...end, inMs: 0 } : end;
}

async function endFailed(
  deps: PassDeps,
  lease: PassLease<ClusterId>,
  kept: KeptPassLease,
  state: PassState,
  error: unknown,
): Promise<PassEnd> {
  if (kept.isOvertaken()) return { kind: 'overtaken' };
  if (kept.signal.aborted) {
    if (state.learned !== null) await deps.records.recordLearned(lease, state.learned);
    const released = await deps.leases.release(lease, { nextPassMs: 0 });
    return { kind: released.kind === 'overtaken' ? 'overtaken' : 'stopped' };
  }
  const { wanted, now, steps, seen } = state;
  if (wanted === null || isDatabaseAway(error)) throw error;
  const step = steps.at(-1) ?? 'finish';
  if (isNamespaceGone(error, step, wanted)) await deps.records.forgetNamespace(lease);
  const failure = classifyFailure(error, { desired: wanted, step, random: Math.random });
  // An error that only the team can fix is retried with the next change or a better observation.
  const inMs = failure.kind === 'needsUser' ? null : failure.afterMs;
  const failures = failure.kind === 'needsUser' ? 0 : wanted.known.failures + 1;
  const waiting = waitingOf(error, failure, wanted, now);
  const judged = judgeFailure(wanted, seen, failure, now) ?? unchangedVerdict(wanted, inMs);
  const verdict = { ...withWaiting(judged, waiting, wanted, now), nextPassMs: inMs };
  const released = await deps.records.recordPass(lease, { ...recordOf(state, verdict), failures });
  return endOf(released, { kind: 'failed', failure: failure.kind, inMs, error });
}

/** A write creates the object that it names, so only the namespace can be the missing name. */
function isNamespaceGone(error: unknown, step: Step['do'], { known }: Desired): boolean {
  const isNotFound = error instanceof GardenError && error.kind === 'not_found';
  return isNotFound && known.shootUid === null && (step === 'applyCredentials' || step === 'applyShoot');
}
