import type { DriftReporter, ReadRrset, RrsetKey, SettlementStore, ZoneSyncStore } from '@corral/dns-mirror';

export interface LookAgainDeps {
  readonly mirror: Pick<ZoneSyncStore, 'readClock' | 'isContested' | 'observe'>;
  readonly settlements: Pick<SettlementStore, 'forgetRecheck'>;
  readonly read: ReadRrset;
  readonly reportDrift: DriftReporter;
  readonly onError: (error: unknown) => void;
  readonly pause: (ms: number, value?: undefined, options?: { signal: AbortSignal }) => Promise<unknown>;
  /** For so long after an accepted write a read may not show it yet. */
  readonly graceMs: number;
  /** For so long the answer to the write waits for the look; it goes on behind the answer. */
  readonly waitMsMax: number;
}

export type LookAgain = (entryId: number, key: RrsetKey) => Promise<void>;

/**
 * Reads a set of which the upstream's answer to a write says that somebody else has changed it, so that the team sees
 * what is there once it has that answer. Where this look cannot be taken now, the reconciler takes it later: the entry
 * says that it is due. Never fails.
 */
export const lookAgain =
  (deps: LookAgainDeps): LookAgain =>
  async (entryId, key) => {
    const waiting = new AbortController();
    const looking = look(deps, entryId, key).catch(deps.onError);
    const patience = deps.pause(deps.waitMsMax, undefined, { signal: waiting.signal }).catch(() => undefined);
    await Promise.race([looking, patience]);
    waiting.abort();
  };

/** Times are kept in milliseconds: the read has to begin in a later one than the write ended in. */
const CLOCK_STEP_MS = 2;

async function look(deps: LookAgainDeps, entryId: number, key: RrsetKey): Promise<void> {
  const { mirror, settlements, reportDrift, graceMs } = deps;
  await deps.pause(CLOCK_STEP_MS);
  const readAt = await mirror.readClock();
  if (await mirror.isContested(key, readAt, graceMs)) return;
  const found = await deps.read(key, 'recheck');
  const observation = await mirror.observe({ key, found, readAt }, { graceMs, purpose: 'sync' });
  reportDrift(observation);
  if (observation.result !== 'skipped') await settlements.forgetRecheck(entryId);
}
