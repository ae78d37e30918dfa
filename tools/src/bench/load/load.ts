import { Agent, get } from 'node:http';
import autocannon from 'autocannon';

export interface Load {
  readonly url: string;
  /** The headers that identify the caller. */
  readonly headers: Readonly<Record<string, string>>;
  readonly path: string;
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

export interface ReadResult {
  readonly reads: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const CONNECTIONS = 16;

export interface ReadLoadOptions {
  readonly seconds: number;
  /** Default: as many as possible. */
  readonly perSecond?: number;
  /** That are kept. Default: 16. */
  readonly connections?: number;
}

/** Reads on a few kept connections. */
export async function readLoad(
  { url, headers, path }: Load,
  { seconds, perSecond, connections = CONNECTIONS }: ReadLoadOptions,
): Promise<ReadResult> {
  const target = { url: `${url}${path}`, headers: { ...headers } };
  const rate = perSecond === undefined ? {} : { overallRate: perSecond };
  const result = await autocannon({ ...target, connections, duration: seconds, ...rate });
  refuseFailures(result);
  const { total } = result.requests;
  return { reads: total, perSecond: total / result.duration, p50Ms: result.latency.p50, p99Ms: result.latency.p99 };
}

/**
 * Measures the same with the client of Node.js, for servers that close the connection after each answer, which autocannon
 * counts as a failure.
 */
export async function plainReadLoad({ url, headers, path }: Load, seconds: number): Promise<ReadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const read = () =>
    new Promise<number>((resolve, reject) => {
      const sentAt = performance.now();
      const request = get(`${url}${path}`, { headers, agent }, (response) => {
        response.resume().on('error', reject);
        response.on('end', () => {
          if (response.statusCode === 200) resolve(performance.now() - sentAt);
          else reject(new Error(`A read was answered ${response.statusCode}`));
        });
      });
      request.on('error', reject);
    });
  const endsAt = performance.now() + seconds * 1_000;
  const durations: number[] = [];
  const keepReading = async () => {
    while (performance.now() < endsAt) durations.push(await read());
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, keepReading));
  agent.destroy();
  durations.sort((one, other) => one - other);
  const [p50Ms, p99Ms] = [percentile(durations, 0.5), percentile(durations, 0.99)];
  return { reads: durations.length, perSecond: durations.length / seconds, p50Ms, p99Ms };
}

/** Sends a write. @throws Error if it is not answered 201 */
export async function sendWrite({ url, headers, path }: Load, body: string): Promise<void> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  });
  const text = await response.text();
  if (response.status !== 201) throw new Error(`A write was answered ${response.status}: ${text}`);
}

/**
 * Does something at a steady rate, and starts each time even if earlier ones have not ended, so that a slow server cannot
 * slow down the clock that measures it. autocannon only counts whole milliseconds, which is too coarse here.
 *
 * @returns how long each took, in ms, the shortest first
 */
export async function atRate(
  perSecond: number,
  seconds: number,
  act: (index: number) => Promise<void>,
): Promise<number[]> {
  const startedAt = performance.now();
  const once = async (index: number): Promise<number> => {
    const dueAt = startedAt + (index * 1_000) / perSecond;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueAt - performance.now())));
    const begunAt = performance.now();
    await act(index);
    return performance.now() - begunAt;
  };
  const durations = await Promise.all(Array.from({ length: perSecond * seconds }, (_, index) => once(index)));
  return durations.sort((one, other) => one - other);
}

/** The one in the middle, by a number of each. */
export function middleBy<T>(all: readonly T[], by: (one: T) => number): T {
  return all.toSorted((one, other) => by(one) - by(other))[Math.floor(all.length / 2)] as T;
}

export const median = (numbers: readonly number[]): number => middleBy(numbers, (number) => number);

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
