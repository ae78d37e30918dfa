import { fullJitterMs, sleep } from '@corral/service';
import type { CallDeps } from '../calls/call.js';
import { unreachableError } from '../calls/call-errors.js';
import { isGardenError } from '../calls/garden-error.js';
import type { ShootPage, ShootWatch, WatchState } from '../client.js';
import { listShoots, type PageRequest } from './shoot-calls.js';
import { streamShoots, type WatchItem } from './watch-stream.js';

/** Short, because all waiting clusters learn from the watch that the garden is back. */
const backoff = { firstMs: 500, maxMs: 2_500 };
/** Used when the garden throttles. */
const slowBackoff = { firstMs: 500, maxMs: 30_000 };
/** Upper bound for the garden's Retry-After, because no events arrive in the meantime. */
const retryAfterMsMax = 300_000;
/** A watch that ends sooner and without an item counts as a failure, probably of a proxy. */
const watchMsMin = 1_000;
/** Maximum time until a failed list is retried while the watch still works. */
const relistRetryMs = 30_000;

/** After these failures the watch may resume from its version. After all others a new list is needed. */
const resumable = ['unreachable', 'throttled', 'credentials', 'rbac'] as const;

interface Progress {
  /** where the next watch continues; null when a list is needed first */
  version: string | null;
  /** when the next list is due, on the monotonic clock */
  relistAt: number;
  /** consecutive failures since the last watch item or the last watch that ended normally */
  failures: number;
}

/**
 * Reports all Shoots and their changes: a list, then watches from its version, then a list again.
 *
 * The periodic list guarantees correctness, the watch only reduces latency. They never run concurrently, so a page of a
 * list cannot overtake an event.
 */
export async function watchShoots(deps: CallDeps, watch: ShootWatch): Promise<void> {
  const signal = AbortSignal.any([watch.signal, deps.closing]);
  const reporting = { ...watch, signal, onState: (state: WatchState) => report(deps, watch, state) };
  const progress: Progress = { version: null, relistAt: 0, failures: 0 };
  while (!signal.aborted) {
    try {
      await listOrWatch(deps, reporting, progress);
    } catch (error) {
      if (signal.aborted) break;
      if (isGardenError(error) && !isGardenError(error, ...resumable)) progress.version = null;
      const delayMs = delayAfter(error, progress.failures);
      progress.failures += 1;
      reporting.onState({ phase: 'waiting', error, delayMs });
      deps.log.warn('watch of shoots interrupted', { error, delayMs: Math.round(delayMs) });
      await sleep(delayMs, signal);
    }
  }
}

type ReportingWatch = ShootWatch & { onState: (state: WatchState) => void };

async function listOrWatch(deps: CallDeps, watch: ReportingWatch, progress: Progress): Promise<void> {
  if (progress.version === null || performance.now() >= progress.relistAt) await relist(deps, watch, progress);
  if (progress.version !== null) await handOverEvents(deps, watch, progress, progress.version);
}

async function relist(deps: CallDeps, watch: ReportingWatch, progress: Progress): Promise<void> {
  watch.onState({ phase: 'listing' });
  let nextMs = watch.relistEveryMs;
  try {
    progress.version = await handOverList(deps, watch);
  } catch (error) {
    if (progress.version === null || watch.signal.aborted) throw error;
    // Lists cost the garden more than watches: if only the list fails, keep receiving events.
    watch.onState({ phase: 'waiting', error, delayMs: 0 });
    deps.log.warn('list of shoots failed', { error });
    nextMs = Math.min(nextMs, relistRetryMs);
  }
  // Jitter, because replicas that started together would otherwise always list together.
  progress.relistAt = performance.now() + nextMs * (0.9 + 0.1 * Math.random());
}

/** @returns the version to watch from; null when the signal was aborted before the end of the list */
async function handOverList(deps: CallDeps, watch: ReportingWatch): Promise<string | null> {
  const { labelSelector, pageSize, signal } = watch;
  let token: string | null = null;
  for (;;) {
    const page = await readPage(deps, { labelSelector, limit: pageSize, continue: token }, signal);
    await watch.onPage(page.shoots);
    if (signal.aborted) return null;
    token = page.continue;
    if (token === null) {
      await watch.onListed();
      return page.resourceVersion;
    }
  }
}

/**
 * Handlers may take longer than a garden keeps the snapshot of a list. The garden then offers to continue on newer data:
 * each Shoot is still seen once, and the next list reports changes on earlier pages (kubernetes.io/
 * docs/reference/using-api/api-concepts, "Retrieving large results sets in chunks").
 */
async function readPage(deps: CallDeps, request: PageRequest, signal: AbortSignal): Promise<ShootPage> {
  try {
    return await listShoots(deps, request, signal);
  } catch (error) {
    if (!isGardenError(error) || error.continueToken === null) throw error;
    return listShoots(deps, { ...request, continue: error.continueToken }, signal);
  }
}

async function handOverEvents(
  deps: CallDeps,
  watch: ReportingWatch,
  progress: Progress,
  version: string,
): Promise<void> {
  const { labelSelector, signal, watchSeconds = 300, silenceMsMax = 150_000 } = watch;
  const startedAt = performance.now();
  const secondsToRelist = Math.ceil((progress.relistAt - startedAt) / 1_000);
  const timeoutSeconds = Math.max(1, Math.min(Math.round(watchSeconds * (1 + Math.random() / 5)), secondsToRelist));
  const onOpen = () => watch.onState({ phase: 'watching' });
  const request = { labelSelector, resourceVersion: version, timeoutSeconds, silenceMsMax, signal, onOpen };

  let items = 0;
  for await (const together of streamShoots(deps, request)) {
    if (signal.aborted) return;
    const changes = lastOfEach(together);
    if (changes.length > 0) await watch.onEvents(changes.map(({ type, shoot }) => ({ type, shoot })));
    // Advance only after the handler succeeded: after a failure the same events come again.
    progress.version = together.at(-1)?.resourceVersion ?? progress.version;
    progress.failures = 0;
    items += together.length;
    if (performance.now() >= progress.relistAt) return;
  }
  if (items === 0 && performance.now() - startedAt < watchMsMin) {
    throw unreachableError({ verb: 'watch', resource: 'shoots', access: 'read' }, 'ended immediately');
  }
  progress.failures = 0;
}

type Change = Extract<WatchItem, { shoot: unknown }>;

/** The last of the changes of a Shoot that came together. */
function lastOfEach(items: readonly WatchItem[]): Change[] {
  const last = new Map<string, Change>();
  for (const item of items) {
    if (item.type === 'bookmark') continue;
    const key = `${item.shoot.metadata.namespace}/${item.shoot.metadata.name}`;
    last.delete(key);
    last.set(key, item);
  }
  return [...last.values()];
}

function delayAfter(error: unknown, failures: number): number {
  const asked = isGardenError(error) ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
  return (
    Math.min(asked, retryAfterMsMax) + fullJitterMs(failures, isGardenError(error, 'throttled') ? slowBackoff : backoff)
  );
}

function report({ log }: CallDeps, { onState }: ShootWatch, state: WatchState): void {
  try {
    onState?.(state);
  } catch (error) {
    log.error('listener to the state of a watch failed', { error });
  }
}
