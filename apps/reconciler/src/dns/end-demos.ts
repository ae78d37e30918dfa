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

const PER_LIST = 200;
/** Maximum duration of a pass. Passes are frequent, so no job keeps other processes waiting for long. */
const RUN_MS_MAX = 20_000;
/** After this many uncertain results in a pass, further deletions would fail as well. */
const UNCERTAIN_MAX = 5;
/** Deletions at expiry use a separate account, so no team waits for its turn because of them. */
const BY_EXPIRY = { tokenId: null, requestId: null, account: 'demo-expiry' } as const;

/**
 * One pass: deletes the record sets that ended demos left behind, within the upstream budget, one after the other: that already uses up
 * what the upstream grants to most installations. After a crash at any point, the next pass continues from the rows. A concurrent pass only costs extra look-ups.
 */
export const clearDemos = (deps: ClearDeps) => {
  /** The end of the upstream's Retry-After. */
  let pausedUntil = Number.NEGATIVE_INFINITY;

  return async (signal: AbortSignal): Promise<ClearResult> => {
    if (deps.now() < pausedUntil) return { deleted: 0, end: 'throttled' };
    const { deleted, end, retryAfterSeconds } = await runPass(deps, signal);
    pausedUntil = deps.now() + retryAfterSeconds * 1_000;
    if (deleted > 0 || end !== 'done') deps.log.info('demos cleared', { deleted, end });
    return { deleted, end };
  };
};

async function runPass(deps: ClearDeps, signal: AbortSignal): Promise<ClearResult & { retryAfterSeconds: number }> {
  const deletionDeps: DeleteRemainingDeps = {
    ...deps,
    send: (write) => deps.send(write, { scope: { signal, deadline: Number.POSITIVE_INFINITY } }),
  };
  const startedAt = deps.now();
  let deleted = 0;
  let uncertain = 0;
  const ended = (end: ClearResult['end'], retryAfterSeconds = 0) => ({ deleted, end, retryAfterSeconds });

  for await (const rrset of remainingSets(deps)) {
    if (signal.aborted) return ended('stopped');
    if (deps.now() - startedAt > RUN_MS_MAX) return ended('more');
    const deletion = await deleteRemaining(deletionDeps, rrset, BY_EXPIRY);
    deps.metrics.demoDeletions.inc({ outcome: deletion.kind });
    if (deletion.kind === 'throttled') return ended('throttled', deletion.retryAfterSeconds);
    if (deletion.kind === 'away') return ended('away');
    if (deletion.kind === 'deleted') deleted += 1;
    if (deletion.kind === 'refused' || deletion.kind === 'uncertain') await deps.ends.postpone(rrset.owner);
    if (deletion.kind === 'uncertain') uncertain += 1;
    if (uncertain >= UNCERTAIN_MAX) return ended('away');
  }
  return ended('done');
}

/** The remaining sets, list by list, each once. A set that could not be deleted is left to a later pass. */
async function* remainingSets({ ends }: ClearDeps): AsyncGenerator<RemainingRrset> {
  const tried = new Set<string>();
  const nameOf = ({ key }: RemainingRrset): string => `${key.zoneId}/${key.name}/${key.type}`;
  for (;;) {
    const listed = await ends.listRemaining(PER_LIST);
    const fresh = listed.filter((rrset) => !tried.has(nameOf(rrset)));
    if (fresh.length === 0) return;
    for (const rrset of fresh) {
      tried.add(nameOf(rrset));
      yield rrset;
    }
  }
}
