import { type DeleteLeftDeps, type DemoEnds, deleteLeft, type LeftRrset } from '@corral/demos';
import type { HcloudClient } from '@corral/hcloud';
import type { Log } from '@corral/service';
import type { DnsMetrics } from './dns-metrics.js';

export interface ClearDeps extends Omit<DeleteLeftDeps, 'send'> {
  /** What was not sent when the signal comes is not sent any more. */
  readonly send: HcloudClient['write'];
  readonly ends: Pick<DemoEnds, 'listLeft' | 'postpone'>;
  readonly metrics: DnsMetrics;
  readonly log: Log;
  readonly now: () => number;
}

export interface ClearResult {
  readonly deleted: number;
  /** `more`: the pass has lasted long enough. `throttled`, `away`: what is left is due again. */
  readonly end: 'done' | 'more' | 'throttled' | 'away' | 'stopped';
}

/** Deletions at the same time while there is budget; one alone uses up what the upstream grants per hour. */
const AT_ONCE = 8;
const PER_LIST = 200;
/** Of one pass. Passes are begun anew soon: so a job is never one that nobody else can take over for long. */
const RUN_MS_MAX = 20_000;
/** An upstream that fails at so many in a pass would fail at the others, too. */
const UNCERTAIN_MAX = 5;
/** What is deleted at an expiry goes on an account of its own: no team waits for its turn because of it. */
const BY_EXPIRY = { tokenId: null, requestId: null, account: 'demo-expiry' } as const;

/**
 * One pass: deletes the record sets that ended demos left behind, as far as the upstream's budget goes. A crash at any
 * point leaves rows from which the next pass goes on; one beside it costs nothing but look-ups.
 */
export const clearDemos = (deps: ClearDeps) => {
  // After a refusal for want of budget no more than one waits in line, and none before the upstream said.
  let isTight = false;
  let pausedUntil = Number.NEGATIVE_INFINITY;

  return async (signal: AbortSignal): Promise<ClearResult> => {
    if (deps.now() < pausedUntil) return { deleted: 0, end: 'throttled' };
    const pass = startPass(deps, signal);
    const lanes = Array.from({ length: isTight ? 1 : AT_ONCE }, () => pass.work());
    await Promise.all(lanes);
    const { deleted, end, retryAfterSeconds } = pass.result();
    isTight = end === 'throttled' || (isTight && end !== 'done');
    pausedUntil = deps.now() + retryAfterSeconds * 1_000;
    if (deleted > 0 || end !== 'done') deps.log.info('demos cleared', { deleted, end });
    return { deleted, end };
  };
};

function startPass(deps: ClearDeps, signal: AbortSignal) {
  const startedAt = deps.now();
  const left = source(deps);
  const deletionDeps: DeleteLeftDeps = { ...deps, send: (write) => deps.send(write, { signal }) };
  let deleted = 0;
  let uncertain = 0;
  let retryAfterSeconds = 0;
  let end: ClearResult['end'] | null = null;

  const noteEnd = (why: ClearResult['end']): void => {
    end ??= why;
  };
  const note = async (rrset: LeftRrset): Promise<void> => {
    const deletion = await deleteLeft(deletionDeps, rrset, BY_EXPIRY);
    deps.metrics.demoDeletions.inc({ outcome: deletion.kind });
    if (deletion.kind === 'deleted') deleted += 1;
    if (deletion.kind === 'refused' || deletion.kind === 'uncertain') await deps.ends.postpone(rrset.owner);
    if (deletion.kind === 'uncertain') uncertain += 1;
    if (deletion.kind === 'throttled') retryAfterSeconds = Math.max(retryAfterSeconds, deletion.retryAfterSeconds);
    if (deletion.kind === 'throttled' || deletion.kind === 'away') noteEnd(deletion.kind);
    if (uncertain >= UNCERTAIN_MAX) noteEnd('away');
  };
  return {
    async work(): Promise<void> {
      while (end === null) {
        if (signal.aborted) return noteEnd('stopped');
        if (deps.now() - startedAt > RUN_MS_MAX) return noteEnd('more');
        const rrset = await left.next();
        if (rrset === null) return;
        await note(rrset);
      }
    },
    result: () => ({ deleted, retryAfterSeconds, end: end ?? ('done' as const) }),
  };
}

/** What is left, list after list, each set once: one that could not be deleted is another pass's matter. */
function source({ ends }: ClearDeps): { next(): Promise<LeftRrset | null> } {
  const tried = new Set<string>();
  let listed: LeftRrset[] = [];
  let listing: Promise<void> | null = null;

  const list = async (): Promise<void> => {
    const found = await ends.listLeft(PER_LIST);
    listed = found.filter(({ key }) => !tried.has(`${key.zoneId}/${key.name}/${key.type}`));
    for (const { key } of listed) tried.add(`${key.zoneId}/${key.name}/${key.type}`);
    listing = null;
  };
  return {
    async next() {
      if (listed.length === 0) {
        listing ??= list();
        await listing;
      }
      return listed.shift() ?? null;
    },
  };
}
