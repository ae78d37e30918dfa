import autocannon from 'autocannon';

export interface Load {
  readonly url: string;
  readonly token: string;
  readonly path: string;
}

export interface ReadResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface WriteResult {
  readonly writes: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** As many reads as go through on a few kept connections. */
export async function readLoad({ url, token, path }: Load, seconds: number): Promise<ReadResult> {
  const result = await autocannon({
    url: `${url}${path}`,
    connections: 16,
    duration: seconds,
    headers: { authorization: `Bearer ${token}` },
  });
  refuseFailures(result);
  return { perSecond: result.requests.average, p50Ms: result.latency.p50, p99Ms: result.latency.p99 };
}

export interface WriteLoad extends Load {
  readonly perSecond: number;
  readonly seconds: number;
  /** The body of the n-th write. */
  readonly bodyOf: (index: number) => string;
  /** Its path. */
  readonly pathOf: (index: number) => string;
}

/**
 * Writes at a steady rate, each started on time whether or not earlier ones have ended: a slow server cannot slow the
 * clock down that it is measured by. autocannon counts whole milliseconds only, too coarse for differences of one.
 */
export async function writeLoad(load: WriteLoad): Promise<WriteResult> {
  const total = load.perSecond * load.seconds;
  const durations: number[] = [];
  const startedAt = performance.now();
  const write = async (index: number): Promise<void> => {
    const dueAt = startedAt + (index * 1_000) / load.perSecond;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueAt - performance.now())));
    const sentAt = performance.now();
    const response = await fetch(`${load.url}${load.pathOf(index)}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${load.token}`, 'content-type': 'application/json' },
      body: load.bodyOf(index),
    });
    const text = await response.text();
    durations.push(performance.now() - sentAt);
    if (response.status !== 201) throw new Error(`A write was answered ${response.status}: ${text}`);
  };
  await Promise.all(Array.from({ length: total }, (_, index) => write(index)));
  durations.sort((one, other) => one - other);
  return { writes: total, p50Ms: percentile(durations, 0.5), p99Ms: percentile(durations, 0.99) };
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;
}

function refuseFailures(result: autocannon.Result): void {
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(
      `${result.non2xx} answers were no success and ${result.errors} requests failed: nothing to compare`,
    );
  }
}
