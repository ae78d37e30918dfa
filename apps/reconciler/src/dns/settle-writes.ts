import { isDatabaseAway } from '@corral/database';
import {
  type DriftReporter,
  type DueEntry,
  type DueRecheck,
  type ReadRrset,
  type RrsetSource,
  SETTLE_LEASE_MS,
  type SettlementStore,
  settleWrite,
  upstreamReader,
  type ZoneSyncStore,
} from '@corral/dns-mirror';
import { UpstreamUnavailable } from '@corral/hcloud';
import type { Log } from '@corral/service';
import { Stopped, untilStopped } from '../loop/unless-stopped.js';
import type { DnsMetrics } from './dns-metrics.js';

export interface SettleDeps {
  readonly settlements: SettlementStore;
  readonly mirror: Pick<ZoneSyncStore, 'readClock' | 'isContested' | 'observe'>;
  readonly source: RrsetSource;
  readonly metrics: DnsMetrics;
  readonly log: Log;
  readonly reportDrift: DriftReporter;
  /** For so long after an accepted write a read may not show it yet; after it comes the second look. */
  readonly graceMs: number;
}

export interface SettleResult {
  readonly settled: number;
  readonly rechecked: number;
  /** `away`: the upstream gives no answers; what is left is due again. */
  readonly end: 'done' | 'away' | 'stopped';
}

/** What became of one entry. `left`: it is due again later. */
type Step = 'ended' | 'left' | 'away' | 'stopped';

/** What could not be read is due again after this, or when the upstream says that it has budget again. */
const RETRY_MS = 10_000;
const RETRY_MS_MAX = 300_000;
/** A second look that a later write to the set forbids for now: finding out costs no upstream call. */
const CONTESTED_MS = 1_000;
/** Entries at the same time, once one of them was read. */
const AT_ONCE = 8;
/** The upstream counts as away after so many failures in a row: one of them may be the entry's own. */
const FAILURES_MAX = 3;

/**
 * One pass: finds out what became of writes whose outcome nobody knows, by reading their record sets, and takes the
 * second looks that are due. One entry is taken at first, and several at once when that could be read: so while the
 * upstream is away a few pay for finding out. A crash at any point leaves entries to whoever comes after their lease.
 */
export const settleWrites =
  (deps: SettleDeps) =>
  async (signal: AbortSignal): Promise<SettleResult> => {
    const { settlements } = deps;
    const read = upstreamReader(untilStopped(deps.source, signal), signal);
    const writes = await workOff(
      () => settlements.claimPending(1, SETTLE_LEASE_MS),
      (due) => settleEntry(deps, read, due),
    );
    if (writes.end !== 'done') return { settled: writes.ended, rechecked: 0, end: writes.end };
    const rechecks = await workOff(
      () => settlements.claimRechecks(1, RETRY_MS),
      (due) => recheckEntry(deps, read, due),
    );
    return { settled: writes.ended, rechecked: rechecks.ended, end: rechecks.end };
  };

async function workOff<T>(claim: () => Promise<T[]>, work: (due: T) => Promise<Step>) {
  let ended = 0;
  let failures = 0;
  let end: 'done' | 'away' | 'stopped' | null = null;
  const lanes: Promise<void>[] = [];

  const begin = (): void => {
    const work = lane();
    // The first may take long, and until then nobody looks at the others: one that fails must not end the process.
    work.catch(() => undefined);
    lanes.push(work);
  };
  const lane = async (): Promise<void> => {
    while (end === null) {
      const [due] = await claim();
      if (due === undefined) return;
      const step = await work(due);
      if (step === 'stopped') end = step;
      failures = step === 'away' ? failures + 1 : 0;
      if (failures >= FAILURES_MAX) end ??= 'away';
      if (step !== 'ended') continue;
      ended += 1;
      if (end === null && lanes.length < AT_ONCE) begin();
    }
  };
  begin();
  // A lane may begin another one; all that was begun ends before the pass does.
  for (let at = 0; at < lanes.length; at += 1) await Promise.allSettled(lanes.slice(at));
  await Promise.all(lanes);
  return { ended, end: end ?? ('done' as const) };
}

async function settleEntry(deps: SettleDeps, read: ReadRrset, due: DueEntry): Promise<Step> {
  const { settlements, metrics, log, graceMs } = deps;
  const { entryId, operation } = due;
  try {
    const settled = await settleWrite({ settlements, read, graceMs }, due);
    const outcome = settled === null ? 'overtaken' : settled.applied ? 'applied' : 'not_applied';
    metrics.settlements.inc({ outcome });
    log.info('write settled', { entryId, operation, outcome, present: (settled?.found ?? null) !== null });
    return 'ended';
  } catch (error) {
    const step = judgeFailure(error);
    await settlements.postpone(due, step === 'stopped' ? 0 : retryMsAfter(error));
    if (step === 'stopped') return step;
    metrics.settlements.inc({ outcome: step === 'away' ? 'away' : 'failed' });
    log.error('write not settled', { entryId, operation, error });
    return step;
  }
}

async function recheckEntry(deps: SettleDeps, read: ReadRrset, due: DueRecheck): Promise<Step> {
  const { settlements, mirror, metrics, log, reportDrift, graceMs } = deps;
  const { entryId, key } = due;
  try {
    const readAt = await mirror.readClock();
    if (await mirror.isContested(key, readAt, graceMs)) {
      await settlements.deferRecheck(due, CONTESTED_MS);
      return 'left';
    }
    const found = await read(key, 'recheck');
    const observation = await mirror.observe({ key, found, readAt }, { graceMs, purpose: 'sync' });
    reportDrift(observation);
    const outcome = observation.result;
    metrics.rechecks.inc({ outcome });
    if (outcome === 'skipped') return 'left';
    await settlements.dropRecheck(due);
    log.info('write looked at again', { entryId, outcome });
    return 'ended';
  } catch (error) {
    const step = judgeFailure(error);
    if (step === 'stopped') return step;
    metrics.rechecks.inc({ outcome: step === 'away' ? 'away' : 'failed' });
    log.error('write not looked at again', { entryId, error });
    return step;
  }
}

/**
 * What cannot be read because of what it is, or through a mistake of ours, keeps no other entry from its turn.
 *
 * @throws the error itself when our own database is the trouble
 */
function judgeFailure(error: unknown): Exclude<Step, 'ended'> {
  if (error instanceof Stopped) return 'stopped';
  if (error instanceof UpstreamUnavailable) return 'away';
  if (isDatabaseAway(error)) throw error;
  return 'left';
}

function retryMsAfter(error: unknown): number {
  const seconds = error instanceof UpstreamUnavailable ? (error.retryAfterSeconds ?? 0) : 0;
  return Math.min(RETRY_MS_MAX, Math.max(RETRY_MS, seconds * 1_000));
}
