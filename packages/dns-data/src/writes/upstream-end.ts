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

/** What is known of an accepted write before it is answered. */
export interface Expectation {
  /** The mirrored body afterwards, null when the set is gone. */
  readonly rrset: string | null;
  /** Whether the upstream could accept the write if its set matches the mirror. */
  readonly fits: boolean;
}

/** @param current the mirrored body before the write */
export const expectationOf = (key: RrsetKey, write: RrsetWrite, current: string | null): Expectation => ({
  rrset: effectOf(key, current, write, null),
  fits: fits(write, current),
});

/**
 * The result of an accepted write: the mirrored body, the action to follow, and whether the answer is consistent with
 * the mirror.
 *
 * @param current the mirrored body before the write
 * @param expectation called only if the answer proves that the write was accepted
 * @returns null when the answer lacks members that the operation requires and so proves nothing
 */
export function endOfAccepted(
  key: RrsetKey,
  write: RrsetWrite,
  current: string | null,
  { status, body }: UpstreamAnswer,
  expectation: () => Expectation = () => expectationOf(key, write, current),
): Extract<WriteEnd, { state: 'completed' }> | null {
  const [stated = null, actionText = null] = sliceMembers(body, ['rrset', 'action']);
  const action = actionOf(actionText);
  const needsAction = write.operation !== 'update';
  const needsRrset = write.operation === 'create' || write.operation === 'update';
  if ((needsAction && action === null) || (needsRrset && stated === null)) return null;
  // An action that failed immediately changed nothing, whatever the status code.
  if (action?.status === 'error') return { state: 'completed', status, body, rrset: current, action, recheck: true };
  const wasRemoved = write.operation === 'create' && current !== null;
  const { rrset: expected, fits: isExpected } = expectation();
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
    recheck: !isExpected,
    wasRemoved,
  };
}

/** Decides whether a refusal contradicts the mirror, which means that the zone was changed outside Corral. */
export function endOfRefused(
  write: RrsetWrite,
  current: string | null,
  { status, body, code }: UpstreamAnswer & { code: string },
): Extract<WriteEnd, { state: 'refused' }> {
  const contradicts =
    (code === 'not_found' && current !== null) ||
    (code === 'uniqueness_error' && current === null) ||
    (code === 'invalid_input' &&
      write.operation === 'add_records' &&
      body.includes('duplicate value') &&
      fits(write, current));
  return { state: 'refused', status, body, recheck: contradicts };
}

/** Whether the upstream could accept the write if its set matches the mirror. */
function fits(write: RrsetWrite, current: string | null): boolean {
  switch (write.operation) {
    case 'create':
      return current === null;
    case 'add_records': {
      const present = valuesOf(current);
      return !write.records.some((record) => present.has(record.value));
    }
    case 'remove_records': {
      const present = valuesOf(current);
      return write.records.every((record) => present.has(record.value));
    }
    default:
      return current !== null;
  }
}

function valuesOf(body: string | null): Set<string> {
  return new Set(body === null ? [] : readRrsetBody(body).records.map((record) => record.value));
}

function actionOf(text: string | null): { id: number; status: string; body: string } | null {
  if (text === null) return null;
  const { id, status } = JSON.parse(text) as { id?: unknown; status?: unknown };
  if (!Number.isSafeInteger(id) || typeof status !== 'string') return null;
  return { id: id as number, status, body: text };
}
