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
} from '@corral/dns-data';
import { UpstreamUnavailable } from '@corral/hcloud';
import type { Log } from '@corral/service';
import { Stopped, untilStopped } from '../loop/work.js';
import type { DnsMetrics } from './metrics.js';

export interface SettleDeps {
  readonly settlements: SettlementStore;
  readonly mirror: ZoneSyncStore;
  readonly source: RrsetSource;
  readonly metrics: DnsMetrics;
  readonly log: Log;
  readonly reportDrift: DriftReporter;
  /** Milliseconds after an accepted write during which a read may not show it yet. The recheck comes after it. */
  readonly graceMs: number;
}

export interface SettleResult {
  readonly settled: number;
  readonly rechecked: number;
  /** `away`: the upstream does not answer. The rest is due again later. */
  readonly end: 'done' | 'away' | 'stopped';
}

/** The outcome for one entry. `left`: it is due again later. */
type Step = 'ended' | 'left' | 'away' | 'stopped';

/** Delay after a failed read, in milliseconds. The upstream's Retry-After may be longer. */
const RETRY_MS = 10_000;
const RETRY_MS_MAX = 300_000;
/** Delay of a recheck that a later write to the set blocks. The check costs no upstream call. */
const CONTESTED_MS = 1_000;
/** Number of concurrent entries after a first successful read. */
const AT_ONCE = 8;
/** The upstream counts as away after this many consecutive failures. A single failure may be caused by the entry. */
const FAILURES_MAX = 3;

/**
 * One pass: settles writes with an unknown outcome by reading their record sets, and performs due rechecks. It starts with one
 * entry, and works on several concurrently after a successful read. While the upstream is away, only a few calls are spent. After a
 * crash at any point, the entries are claimed again when their lease ends.
 */
export const settleWrites =
  (deps: SettleDeps) =>
  async (signal: AbortSignal): Promise<SettleResult> => {
    const { settlements } = deps;
    const read = upstreamReader(untilStopped(deps.source, signal), signal);
    const writes = await workOff(
      () => settlements.takePending(1, SETTLE_LEASE_MS),
      (due) => settleEntry(deps, read, due),
    );
    if (writes.end !== 'done') return { settled: writes.ended, rechecked: 0, end: writes.end };
    const rechecks = await workOff(
      () => settlements.takeRechecks(1, RETRY_MS),
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
    // The first lane may take long before the others are awaited. A rejection must not end the process until then.
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
  // A lane may start another one. All of them end before the pass does.
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
    log.info('record set of a write read again', { entryId, outcome });
    return 'ended';
  } catch (error) {
    const step = judgeFailure(error);
    if (step === 'stopped') return step;
    metrics.rechecks.inc({ outcome: step === 'away' ? 'away' : 'failed' });
    log.error('record set of a write not read again', { entryId, error });
    return step;
  }
}

/**
 * An unreadable record set, or a bug of ours, does not block the other entries.
 *
 * @throws the error itself when our own database failed
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
