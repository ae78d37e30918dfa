import { assertNever } from '@corral/contracts';
import { sliceMembers, type WriteOutcome } from '@corral/hcloud';
import type { RrsetKey, RrsetWrite } from '../rrset.js';
import { compareRrset, effectOf, readRrsetBody } from '../rrset.js';
import type { WriteLease } from './begin-rule.js';
import { settledAnswer } from './copies.js';
import type { SettledOutcome } from './settle-write.js';
import type { WriteEnd, WriteLedger } from './write-ledger.js';

export interface PerformWriteDeps {
  readonly ledger: WriteLedger;
  readonly pause: (ms: number) => Promise<unknown>;
  /**
   * How long an uncertain write stays with its holder before another process may settle it. The upstream may still be
   * working on it.
   */
  readonly settleAfterMs: number;
}

interface Begun {
  readonly kind: 'begun';
  readonly lease: WriteLease;
}

/** The steps that differ between the gateway's clients and the end of a demo. */
export interface WriteSteps<NotBegun> {
  /** Enters the write into the ledger. Any result other than `begun` is returned unchanged. */
  readonly begin: () => Promise<Begun | NotBegun>;
  /** Calls the upstream. Null when there is nothing to change; the entry is then removed. */
  readonly send: (lease: WriteLease) => Promise<WriteOutcome | null>;
  /**
   * Finds the outcome of an uncertain write, or null while it is still unknown. Without this step the entry stays
   * pending for the reconciler.
   */
  readonly settle?: (lease: WriteLease) => Promise<SettledOutcome | null>;
}

/** The result of a write that was begun, as recorded in the ledger. */
export type PerformedWrite =
  /** `rrset`: the set in the mirror now, null when it is gone. */
  | ({ kind: 'accepted'; rrset: string | null; wasRemoved: boolean; recheck: boolean } & UpstreamAnswer)
  /** `recheck`: the answer contradicts the mirror, so the set was changed outside Corral. */
  | ({ kind: 'refused'; recheck: boolean } & UpstreamAnswer)
  /** The answer was lost but the effect was found. The answer is modelled on the upstream's. */
  | ({ kind: 'settled' } & UpstreamAnswer)
  /** The answer was lost and the write had no effect. */
  | { kind: 'void'; reason: string }
  /** The outcome is unknown. The entry stays pending until it is settled. */
  | { kind: 'uncertain'; reason: string }
  /** There was nothing to change. */
  | { kind: 'unnecessary' }
  /** The request certainly did not reach the upstream. */
  | Unsent;

type Unsent = Extract<WriteOutcome, { kind: 'unreached' | 'credentials_refused' | 'throttled' | 'no_account' }>;

const FINISH_TRIES = 4;

/**
 * Performs a write in two parts: records it as pending (`begin`), sends it, and records its outcome
 * (`conclude`). An unknown outcome is looked up (`settle`). A crash at any point leaves an entry that is settled later.
 */
export async function performWrite<NotBegun extends { readonly kind: string }>(
  deps: PerformWriteDeps,
  target: Target,
  { begin, send, settle }: WriteSteps<NotBegun>,
): Promise<{ readonly kind: 'performed'; readonly lease: WriteLease; readonly result: PerformedWrite } | NotBegun> {
  const begun = await begin();
  if (!isBegun(begun)) return begun;
  const { lease } = begun;
  const outcome = await send(lease);
  const concluded = await conclude(deps, target, lease, outcome);
  if (concluded.kind !== 'uncertain' || settle === undefined) return { kind: 'performed', lease, result: concluded };
  const settled = await settle(lease);
  if (settled !== null) return { kind: 'performed', lease, result: resultOf(target, lease, settled, concluded.reason) };
  await deps.ledger.release(lease, 0, null);
  return { kind: 'performed', lease, result: concluded };
}

function isBegun<Other extends { readonly kind: string }>(begun: Begun | Other): begun is Begun {
  return begun.kind === 'begun';
}

function resultOf(
  { key, write }: Target,
  { entryId }: WriteLease,
  { applied, found, at }: SettledOutcome,
  reason: string,
): PerformedWrite {
  if (!applied) return { kind: 'void', reason };
  return { kind: 'settled', ...settledAnswer({ entryId, key, operation: write.operation, found }, at) };
}

interface Target {
  readonly key: RrsetKey;
  readonly write: RrsetWrite;
}

/** Records the outcome of the call in the ledger: the second part of a write. */
async function conclude(
  deps: PerformWriteDeps,
  { key, write }: Target,
  lease: WriteLease,
  outcome: WriteOutcome | null,
): Promise<PerformedWrite> {
  const leaveUncertain = async (reason: string, answer: UpstreamAnswer | null = null): Promise<PerformedWrite> => {
    await deps.ledger.release(lease, deps.settleAfterMs, answer);
    return { kind: 'uncertain', reason };
  };
  switch (outcome?.kind) {
    case undefined:
      await finish(deps, lease, key, { state: 'unsent', code: 'not_found' });
      return { kind: 'unnecessary' };
    case 'accepted': {
      const end = endOfAccepted(key, write, lease.current, outcome);
      if (end === null) return leaveUncertain('the answer lacks what answers to such a write have');
      await finish(deps, lease, key, end);
      const { kind, status, body } = outcome;
      return { kind, status, body, rrset: end.rrset, wasRemoved: end.wasRemoved ?? false, recheck: end.recheck };
    }
    case 'refused': {
      const end = endOfRefused(write, lease.current, outcome);
      await finish(deps, lease, key, end);
      return { ...outcome, recheck: end.recheck };
    }
    case 'failed':
      return leaveUncertain(`the upstream answered ${outcome.status}`, outcome);
    case 'uncertain':
      return leaveUncertain(outcome.reason);
    case 'unreached':
    case 'credentials_refused':
      await finish(deps, lease, key, { state: 'unsent', code: 'upstream_unavailable' });
      return outcome;
    case 'throttled':
      await finish(deps, lease, key, { state: 'unsent', code: 'rate_limit_exceeded' });
      return outcome;
    case 'no_account':
      await finish(deps, lease, key, { state: 'unsent', code: 'unavailable' });
      return outcome;
    default:
      return assertNever(outcome);
  }
}

/** The upstream has answered, so a short outage of Postgres must not make the write uncertain. */
async function finish(
  { ledger, pause }: PerformWriteDeps,
  lease: WriteLease,
  key: RrsetKey,
  end: WriteEnd,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await ledger.finish(lease, key, end);
      return;
    } catch (error) {
      if (attempt === FINISH_TRIES) throw error;
      await pause(250 * attempt);
    }
  }
}

/** The upstream's answer to a write. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly body: string;
}

/**
 * The result of an accepted write: the mirrored body, the action to follow, and whether the answer is consistent with
 * the mirror.
 *
 * @param current the mirrored body before the write
 * @returns null when the answer lacks members that the operation requires and so proves nothing
 */
export function endOfAccepted(
  key: RrsetKey,
  write: RrsetWrite,
  current: string | null,
  { status, body }: UpstreamAnswer,
): Extract<WriteEnd, { state: 'completed' }> | null {
  const [stated = null, actionText = null] = sliceMembers(body, ['rrset', 'action']);
  const action = actionOf(actionText);
  const needsAction = write.operation !== 'update';
  const needsRrset = write.operation === 'create' || write.operation === 'update';
  if ((needsAction && action === null) || (needsRrset && stated === null)) return null;
  // An action that failed immediately changed nothing, whatever the status code.
  if (action?.status === 'error') return { state: 'completed', status, body, rrset: current, action, recheck: true };
  const wasRemoved = write.operation === 'create' && current !== null;
  const expected = effectOf(key, current, write, null);
  // An update changes only labels, so any other difference is not its effect. The recheck attributes it.
  if (write.operation === 'update' && compareRrset(key.type, expected, stated) === 'drifted') {
    return { state: 'completed', status, body, rrset: expected, action, recheck: true };
  }
  return {
    state: 'completed',
    status,
    body,
    rrset: stated ?? expected,
    action,
    recheck: !fits(write, setOf(current)),
    wasRemoved,
  };
}

/** Decides whether a refusal contradicts the mirror, which means that the zone was changed outside Corral. */
export function endOfRefused(
  write: RrsetWrite,
  current: string | null,
  { status, body, code }: UpstreamAnswer & { code: string },
): Extract<WriteEnd, { state: 'refused' }> {
  return { state: 'refused', status, body, recheck: contradicts(write, setOf(current), { code, body }) };
}

type MirroredSet = ReturnType<typeof readRrsetBody> | null;

const setOf = (body: string | null): MirroredSet => (body === null ? null : readRrsetBody(body));

function contradicts(write: RrsetWrite, set: MirroredSet, { code, body }: { code: string; body: string }): boolean {
  switch (code) {
    case 'not_found':
      return set !== null;
    case 'uniqueness_error':
      return set === null;
    case 'protected':
      return set?.protection?.change !== true;
    case 'invalid_input':
      return isUnexplained(write, set, body);
    default:
      return false;
  }
}

/**
 * Whether neither the request nor the mirrored set explains `invalid_input`. Only what `add_records` states may be invalid in itself,
 * so its answer has to name the reason.
 */
function isUnexplained(write: RrsetWrite, set: MirroredSet, answer: string): boolean {
  switch (write.operation) {
    case 'delete':
      return true;
    case 'change_ttl':
      return isTtl(write.ttl);
    case 'remove_records':
      return isDistinct(write.records) && (set === null || countOf(write.records, set) === write.records.length);
    case 'add_records': {
      const repeats = answer.includes('duplicate value') && isDistinct(write.records);
      const differs = /\bTTLs?\b/i.test(answer) && write.ttl !== null && isTtl(write.ttl);
      return (repeats && countOf(write.records, set) === 0) || (differs && (set === null || set.ttl === write.ttl));
    }
    default:
      return false;
  }
}

/** The range of the upstream, which refuses other TTLs. */
const isTtl = (ttl: number | null): boolean => ttl === null || (ttl >= 60 && ttl <= 2_147_483_647);

type Values = readonly { readonly value: string }[];

const isDistinct = (records: Values): boolean => new Set(records.map(({ value }) => value)).size === records.length;

/** How many of the values are in the set. */
function countOf(records: Values, set: MirroredSet): number {
  const present = new Set(set?.records.map(({ value }) => value));
  return records.filter(({ value }) => present.has(value)).length;
}

/** Whether the upstream could accept the write if its set matches the mirror. */
function fits(write: RrsetWrite, set: MirroredSet): boolean {
  switch (write.operation) {
    case 'create':
      return set === null;
    case 'add_records':
      return countOf(write.records, set) === 0 && (write.ttl === null || (set?.ttl ?? write.ttl) === write.ttl);
    case 'remove_records':
      return countOf(write.records, set) === write.records.length;
    default:
      return set !== null;
  }
}

function actionOf(text: string | null): { id: number; status: string; body: string } | null {
  if (text === null) return null;
  const { id, status } = JSON.parse(text) as { id?: unknown; status?: unknown };
  if (!Number.isSafeInteger(id) || typeof status !== 'string') return null;
  return { id: id as number, status, body: text };
}
