import { middleBy, percentile } from '../load/load.js';
import { type Call, type Cycle, nameOf } from './call.js';
import type { Pair } from './pair-rig.js';
import type { Site } from './site.js';

export interface CallRatio {
  readonly name: string;
  readonly isRead: boolean;
  readonly pairs: number;
  /** Medians in ms. */
  readonly smallMs: number;
  readonly largeMs: number;
  /** Of the medians. */
  readonly ratio: number;
  /** Of the 90th percentiles. */
  readonly ratioOfP90: number;
}

export interface MeasureOptions {
  /** Pairs of each call. */
  readonly pairs: number;
  /** Further pairs as long as a ratio is above `suspicious`, up to this number. */
  readonly pairsMax: number;
  /** And for this time. */
  readonly againMs: number;
  /** Time for further pairs of calls with a ratio above `aim` even then: as many as fit, whatever comes out meanwhile. */
  readonly sureMs: number;
  readonly aim: number;
  /** Where the calls begin to count, so that what they make has a new name. Default: 0. */
  readonly after?: number;
}

/** Statements are prepared from their fifth use on, and planned for any parameters five uses later. */
const WARM_UP = 10;
/** Below the aim, so that noise rather than a grown time is what is measured again. */
const SUSPICIOUS = 1.13;
const CALLS_AT_ONCE = 10;

/**
 * Sends each call to both installations in turns, one request at a time, and changes who is first. So load on the machine affects
 * both alike, and neither finds warmer caches of the processor.
 */
export async function measureCycle(
  { small, large }: Pair,
  cycle: Cycle,
  options: MeasureOptions,
): Promise<CallRatio[]> {
  const times = cycle.calls.map(() => ({ small: [] as number[], large: [] as number[] }));
  let n = options.after ?? 0;
  const once = async (isCounted: boolean): Promise<void> => {
    n += 1;
    const turns = n % 2 === 0 ? [small, large] : [large, small];
    for (const [index, call] of cycle.calls.entries()) {
      for (const site of turns) {
        const ms = await timeOf(site, call, n);
        if (isCounted) times[index]?.[site.name].push(ms);
      }
    }
  };
  const timesMax = cycle.timesMax ?? Number.POSITIVE_INFINITY;
  const warmUp = Math.min(WARM_UP, Math.floor(timesMax / 3));
  const pairsMax = Math.min(options.pairsMax, timesMax - warmUp);
  const ratios = () => cycle.calls.map((call, index) => ratioOf(call, times[index] as (typeof times)[number]));
  const isAbove = (bound: number) => ratios().some(({ ratio }) => ratio > bound);
  for (let done = 0; done < warmUp; done += 1) await once(false);
  for (let done = 0; done < Math.min(options.pairs, pairsMax); done += 1) await once(true);
  const left = () => pairsMax - (times[0]?.small.length ?? 0);
  const more = async (): Promise<void> => {
    for (let pairs = Math.min(CALLS_AT_ONCE, left()); pairs > 0; pairs -= 1) await once(true);
  };
  for (const until = performance.now() + options.againMs; performance.now() < until && left() > 0; ) {
    if (!isAbove(SUSPICIOUS)) break;
    await more();
  }
  // A verdict needs more than that. It is not asked for in between: a moment below the aim would end it too early.
  const isMissed = isAbove(options.aim);
  for (const until = performance.now() + options.sureMs; isMissed && performance.now() < until && left() > 0; ) {
    await more();
  }
  return ratios();
}

/** Of several measurements of the same calls, the one with the median ratio, for each call. */
export const medianRatios = (runs: readonly (readonly CallRatio[])[]): CallRatio[] =>
  (runs[0] ?? []).map((_, at) => {
    const ofCall = runs.map((run) => run[at] as CallRatio);
    return middleBy(ofCall, ({ ratio }) => ratio);
  });

async function timeOf(site: Site, { prepare, ask, take }: Call, n: number): Promise<number> {
  await prepare?.(site, n);
  const answer = await site.send(ask(site, n));
  take?.(site, answer);
  return answer.ms;
}

function ratioOf(
  call: Call,
  times: { readonly small: readonly number[]; readonly large: readonly number[] },
): CallRatio {
  const sorted = { small: times.small.toSorted(ascending), large: times.large.toSorted(ascending) };
  const of = (share: number) => [percentile(sorted.small, share), percentile(sorted.large, share)] as const;
  const [smallMs, largeMs] = of(0.5);
  const [smallP90, largeP90] = of(0.9);
  return {
    name: nameOf(call),
    isRead: /^(get|list|export|stream|show)/.test(call.of),
    pairs: times.small.length,
    smallMs,
    largeMs,
    ratio: largeMs / smallMs,
    ratioOfP90: largeP90 / smallP90,
  };
}

const ascending = (one: number, other: number): number => one - other;
