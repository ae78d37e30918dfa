import { OWN_ACTION_ID_BASE } from '../actions/action-store.js';
import type { RrsetKey, RrsetWriteKind } from './rrset-write.js';

export interface SettledWrite {
  readonly entryId: number;
  readonly key: RrsetKey;
  readonly operation: RrsetWriteKind;
  /** The set as read by the settlement. */
  readonly found: string | null;
}

const commands: Record<Exclude<RrsetWriteKind, 'update'>, string> = {
  create: 'create_rrset',
  set_records: 'set_rrset_records',
  add_records: 'add_rrset_records',
  remove_records: 'remove_rrset_records',
  change_ttl: 'change_rrset_ttl',
  delete: 'delete_rrset',
};

/**
 * Builds the answer to a settled write whose effect was found but whose answer was lost. It has the upstream's shape,
 * with a finished action of our own, since the upstream's action id is unknown.
 */
export function settledAnswer(write: SettledWrite, at: Date): { status: number; body: string } {
  const rrset = write.found === null ? '' : `"rrset":${write.found}`;
  if (write.operation === 'update') return { status: 200, body: `{${rrset}}` };
  const action = `"action":${settledAction(write, at)?.body}`;
  return { status: 201, body: write.operation === 'create' ? `{${rrset},${action}}` : `{${action}}` };
}

/** The action inside `settledAnswer`; null for `update`, whose answer has none. */
export function settledAction(write: SettledWrite, at: Date): { id: number; body: string } | null {
  if (write.operation === 'update') return null;
  const id = OWN_ACTION_ID_BASE + write.entryId;
  const time = at.toISOString();
  return {
    id,
    body: JSON.stringify({
      id,
      command: commands[write.operation],
      status: 'success',
      progress: 100,
      started: time,
      finished: time,
      resources: [{ id: write.key.zoneId, type: 'zone' }],
      error: null,
    }),
  };
}
