import { sliceMembers } from '@corral/hcloud';
import { compareRrset } from '../mirror/compare-rrset.js';
import { effectOf, readRrsetBody } from '../mirror/rrset-body.js';
import type { RrsetKey, RrsetWrite } from './rrset-write.js';
import type { WriteEnd } from './write-ledger.js';

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
