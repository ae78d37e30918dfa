import { dueAtEnd } from '@corral/contracts';
import { type DeleteRemainingDeps, deleteRemaining, type EndingRrsets } from '@corral/dns-data';
import type { HcloudClient } from '@corral/hcloud';
import type { Log } from '@corral/service';

interface EndDeps extends Omit<DeleteRemainingDeps, 'send'> {
  /** Does not send requests after the signal has aborted. */
  readonly send: HcloudClient['write'];
  readonly ending: EndingRrsets;
  readonly log: Log;
  readonly now: () => number;
}

/** Maximum duration of a pass in ms. What is left is due again in the next one. */
const RUN_MS_MAX = 20_000;
/** These deletions use an account of their own, so no team waits for its turn because of them. */
const BY_LABEL = { tokenId: null, requestId: null, account: 'expiry' } as const;

/**
 * One pass: deletes the record sets of teams that have ended, the longest over first, and puts reminders of those that end soon into the
 * audit log. A set that is changed meanwhile is left alone; a deletion that fails is due again in the next pass.
 */
export const endRrsets =
  ({ ending, log, ...deps }: EndDeps) =>
  async (signal: AbortSignal): Promise<{ readonly deleted: number; readonly reminded: number }> => {
    const startedAt = deps.now();
    const deletionDeps: DeleteRemainingDeps = {
      ...deps,
      send: (write) => deps.send(write, { scope: { signal, deadline: Number.POSITIVE_INFINITY } }),
    };
    const { sets, now } = await ending.list();
    let [deleted, reminded] = [0, 0];
    for (const set of sets) {
      if (signal.aborted || deps.now() - startedAt > RUN_MS_MAX) break;
      const due = dueAtEnd(set.endsAt, set.changedAt, now);
      if (due === 'reminder' && (await ending.remind(set))) reminded += 1;
      if (due !== 'deletion') continue;
      const { kind } = await deleteRemaining(deletionDeps, set, BY_LABEL);
      if (kind === 'deleted') deleted += 1;
      if (kind === 'throttled' || kind === 'away') break;
    }
    if (deleted > 0 || reminded > 0) log.info('record sets ended', { deleted, reminded });
    return { deleted, reminded };
  };
