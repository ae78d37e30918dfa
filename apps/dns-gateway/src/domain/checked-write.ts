import { createHash } from 'node:crypto';
import type { DnsCaller } from '@corral/auth';
import type { RrsetKey, RrsetWrite, UpstreamAnswer } from '@corral/dns-mirror';
import type { UpstreamWrite } from '@corral/hcloud';

/** A write whose caller, name, type and body were checked. */
export interface CheckedWrite {
  readonly caller: DnsCaller;
  readonly requestId: string;
  readonly key: RrsetKey;
  readonly write: RrsetWrite;
  /** The body as it came, null for none. */
  readonly bytes: Buffer | null;
  readonly upstream: UpstreamWrite;
  /** Until when it may wait, on the writer's clock: for earlier writes to its set and for the upstream's budget. */
  readonly deadline: number;
  /** Aborted when its client goes away. */
  readonly gone: AbortSignal;
  /** Does not count it as work in flight while it waits. @returns counts it again */
  readonly setAside: () => () => void;
}

export interface WriteAnswer extends UpstreamAnswer {
  readonly entryId: number;
}

/** What the audit log keeps of one that is refused before it is sent. */
export function refusalOf({ caller, requestId, key, write }: CheckedWrite) {
  return { caller, requestId, key, operation: write.operation };
}

/** By what an exact repetition of it is known. */
export function hashOf({ caller, upstream }: CheckedWrite): Buffer {
  const hash = createHash('sha256');
  for (const part of [caller.tokenId, upstream.method, ...upstream.segments]) hash.update(`${part}\0`);
  return hash.update(upstream.body ?? '').digest();
}
