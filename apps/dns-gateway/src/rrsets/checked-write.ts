import type { DnsCaller } from '@corral/auth';
import type { RrsetKey, RrsetWrite, UpstreamAnswer } from '@corral/dns-data';
import type { UpstreamWrite } from '@corral/hcloud';

/** A write with checked caller, name, type and body. */
export interface CheckedWrite {
  readonly caller: DnsCaller;
  readonly requestId: string;
  readonly key: RrsetKey;
  readonly write: RrsetWrite;
  /** The unchanged body, or null. */
  readonly bytes: Buffer | null;
  readonly upstream: UpstreamWrite;
  /** Deadline on the writer's clock for all waits: for earlier writes to its set and for the upstream's budget. */
  readonly deadline: number;
  /** Aborted when the client disconnects. */
  readonly gone: AbortSignal;
  /** Excludes the request from the work in flight while it waits. @returns a function that includes it again */
  readonly setAside: () => () => void;
}

export interface WriteAnswer extends UpstreamAnswer {
  readonly entryId: number;
}

/** Audit data of a write that is refused before it is sent. */
export function refusalOf({ caller, requestId, key, write }: CheckedWrite) {
  return { caller, requestId, key, operation: write.operation };
}
