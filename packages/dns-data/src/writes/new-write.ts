import type { RecordQuota } from './admission.js';
import type { RrsetKey, RrsetOwner, RrsetWrite, RrsetWriteKind } from './rrset-write.js';

/** A write to be entered into the ledger. */
export interface NewWrite {
  readonly owner: RrsetOwner;
  /** Null for a deletion by Corral itself after the end of a demo. */
  readonly tokenId: string | null;
  readonly key: RrsetKey;
  readonly write: RrsetWrite;
  readonly requestBody: string | null;
  /** Identifies the request in the log; null when no client request caused the write. */
  readonly requestId: string | null;
  /** SHA-256 of token, method, path and body; null for requests that no client repeats. */
  readonly requestHash: Buffer | null;
}

export interface LedgerOptions {
  readonly quota: RecordQuota;
  /** How long no other process may settle a write in progress: longer than any upstream call. */
  readonly leaseMs: number;
  /** How long an undelivered outcome is kept for the client's retry. */
  readonly replayMs: number;
}

/** The right to finish one pending entry. */
export interface WriteLease {
  readonly entryId: number;
  readonly fence: number;
  readonly owner: RrsetOwner;
  readonly operation: RrsetWriteKind;
  /** The mirrored body when the write began. It cannot change while the entry is pending. */
  readonly current: string | null;
  /** The most records the set may have upstream, whether or not this write and earlier ones take effect. */
  readonly recordsMax: number;
}

export type BeginOutcome =
  | { kind: 'begun'; lease: WriteLease }
  /**
   * Another write to the set is in progress. `identical`: it is the same request, repeated. `isDue`: its holder is
   * gone, so any process may settle it.
   */
  | { kind: 'busy'; entryId: number; identical: boolean; isDue: boolean }
  /** An identical request was answered before, but its client did not receive the answer. */
  | { kind: 'replayed'; entryId: number; status: number; body: string }
  /** `reservedByActions`: the write would fit once the actions of earlier writes have succeeded. */
  | { kind: 'refused'; limit: keyof RecordQuota; max: number; reservedByActions: boolean }
  /** The demo has ended, so only deletions are accepted. */
  | { kind: 'ended' }
  /** A hold is in force, so nothing is changed. */
  | { kind: 'held' };
