import { type DeleteRemainingDeps, type DemoEnds, deleteRemaining, type RemainingRrset } from '@corral/dns-data';
import type { HcloudClient } from '@corral/hcloud';
import type { Log } from '@corral/service';
import type { DnsMetrics } from './metrics.js';

interface ExpireDeps {
  readonly ends: DemoEnds;
  readonly metrics: DnsMetrics;
  readonly log: Log;
}

export interface ExpireResult {
  readonly ended: number;
  readonly released: number;
}

/** Thousands of demos may expire at the same time. Short transactions keep writes of other demos from waiting. */
const PER_TRANSACTION = 500;

/**
 * One pass: ends expired demos, and frees the labels of those that ended long ago. It makes no upstream call, so a tight
 * request budget never delays it. Another loop deletes the remaining records.
 */
export const expireDemos =
  ({ ends, metrics, log }: ExpireDeps) =>
  async (signal: AbortSignal): Promise<ExpireResult> => {
    let ended = 0;
    for (let more = true; more && !signal.aborted; ) {
      const count = await ends.endExpired(PER_TRANSACTION);
      ended += count;
      more = count === PER_TRANSACTION;
    }
    const released = await ends.releaseLabels();
    metrics.demosExpired.inc(ended);
    if (ended > 0 || released > 0) log.info('demos expired', { ended, released });
    return { ended, released };
  };

interface ClearDeps extends Omit<DeleteRemainingDeps, 'send'> {
  /** Does not send requests after the signal has aborted. */
  readonly send: HcloudClient['write'];
  readonly ends: DemoEnds;
  readonly metrics: DnsMetrics;
  readonly log: Log;
  readonly now: () => number;
}

export interface ClearResult {
  readonly deleted: number;
  /** `more`: the pass reached its time limit. `throttled`, `away`: the rest is due again later. */
  readonly end: 'done' | 'more' | 'throttled' | 'away' | 'stopped';
}

/** Concurrent deletions while there is budget. A single lane would already use up the upstream's hourly limit. */
const AT_ONCE = 8;
const PER_LIST = 200;
/** Maximum duration of a pass. Passes are frequent, so no job keeps other processes waiting for long. */
const RUN_MS_MAX = 20_000;
/** After this many uncertain results in a pass, further deletions would fail as well. */
const UNCERTAIN_MAX = 5;
/** Deletions at expiry use a separate account, so no team waits for its turn because of them. */
const BY_EXPIRY = { tokenId: null, requestId: null, account: 'demo-expiry' } as const;

/**
 * One pass: deletes the record sets that ended demos left behind, within the upstream budget. After a crash at any point, the
 * next pass continues from the rows. A concurrent pass only costs extra look-ups.
 */
export const clearDemos = (deps: ClearDeps) => {
  // After a budget refusal only one lane runs, and none before the upstream's Retry-After has passed.
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
  const deletionDeps: DeleteRemainingDeps = { ...deps, send: (write) => deps.send(write, { signal }) };
  let deleted = 0;
  let uncertain = 0;
  let retryAfterSeconds = 0;
  let end: ClearResult['end'] | null = null;

  const noteEnd = (why: ClearResult['end']): void => {
    end ??= why;
  };
  const note = async (rrset: RemainingRrset): Promise<void> => {
    const deletion = await deleteRemaining(deletionDeps, rrset, BY_EXPIRY);
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

/** The remaining sets, list by list, each once. A set that could not be deleted is left to a later pass. */
function source({ ends }: ClearDeps): { next(): Promise<RemainingRrset | null> } {
  const tried = new Set<string>();
  let listed: RemainingRrset[] = [];
  let listing: Promise<void> | null = null;

  const list = async (): Promise<void> => {
    const found = await ends.listRemaining(PER_LIST);
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
