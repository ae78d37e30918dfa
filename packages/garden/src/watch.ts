import { sleep } from '@corral/service';
import { fullJitterMs } from './backoff.js';
import type { CallDeps } from './call.js';
import { unreachableError } from './call-errors.js';
import type { ShootPage, ShootWatch, WatchState } from './client.js';
import { isGardenError } from './errors.js';
import { listShoots } from './list-shoots.js';
import { streamShoots } from './watch-stream.js';

/** Everybody who waits for the garden learns from the watch that it is back: so one call tries often. */
const backoff = { firstMs: 500, capMs: 2_500 };
/** Of a garden that asks for fewer calls. */
const slowBackoff = { firstMs: 500, capMs: 30_000 };
/** However long a garden asks us to stay away, we are blind meanwhile. */
const retryAfterMsMax = 300_000;
/** A watch that ends sooner and without a word was cut off by something on the way. */
const watchMsMin = 1_000;
/** A list that failed beside a good watch is tried again after this time at the latest. */
const relistRetryMs = 30_000;

/** Failures that leave the version good from which to go on. After all others only a list can tell. */
const resumable = ['unreachable', 'throttled', 'credentials', 'rbac'] as const;

interface Progress {
  /** from which the next watch goes on; null before the first list and when only a list can tell */
  version: string | null;
  /** when the next list is due, on the monotonic clock */
  relistAt: number;
  /** in a row, without a word in a watch between them */
  failures: number;
}

/**
 * Keeps a caller told of all Shoots: a list, then watches from its version, then a list again.
 *
 * The periodic list is what makes it right, the watch only makes it quick. They take turns, so that no page of a list
 * overtakes an event.
 */
export async function watchShoots(deps: CallDeps, watch: ShootWatch): Promise<void> {
  const ending = new AbortController();
  const end = () => ending.abort();
  const sources = [watch.signal, deps.closing];
  for (const source of sources) source.addEventListener('abort', end, { once: true });
  if (sources.some((source) => source.aborted)) end();

  const { signal } = ending;
  const told = { ...watch, signal, onState: (state: WatchState) => tell(deps, watch, state) };
  const progress: Progress = { version: null, relistAt: 0, failures: 0 };
  while (!signal.aborted) {
    try {
      await takeTurn(deps, told, progress);
    } catch (error) {
      if (signal.aborted) break;
      if (isGardenError(error) && !isGardenError(error, ...resumable)) progress.version = null;
      const delayMs = delayAfter(error, progress.failures);
      progress.failures += 1;
      told.onState({ phase: 'waiting', error, delayMs });
      deps.log.warn('watch of shoots interrupted', { error, delayMs: Math.round(delayMs) });
      await sleep(delayMs, signal);
    }
  }
  for (const source of sources) source.removeEventListener('abort', end);
}

type Told = ShootWatch & { onState: (state: WatchState) => void };

async function takeTurn(deps: CallDeps, watch: Told, progress: Progress): Promise<void> {
  if (progress.version === null || performance.now() >= progress.relistAt) await relist(deps, watch, progress);
  if (progress.version !== null) await handOverEvents(deps, watch, progress, progress.version);
}

async function relist(deps: CallDeps, watch: Told, progress: Progress): Promise<void> {
  watch.onState({ phase: 'listing' });
  let nextMs = watch.relistEveryMs;
  try {
    progress.version = await handOverList(deps, watch);
  } catch (error) {
    if (progress.version === null || watch.signal.aborted) throw error;
    // Lists burden a garden more than watches do: where only the list fails, events shall still come.
    watch.onState({ phase: 'waiting', error, delayMs: 0 });
    deps.log.warn('list of shoots failed', { error });
    nextMs = Math.min(nextMs, relistRetryMs);
  }
  // Replicas that began together must not list together for ever.
  progress.relistAt = performance.now() + nextMs * (0.9 + 0.1 * Math.random());
}

/** @returns the version from which to watch; null when it was ended before all was handed over */
async function handOverList(deps: CallDeps, watch: Told): Promise<string | null> {
  const { labelSelector, pageSize: limit = 500, signal } = watch;
  let token: string | null = null;
  for (;;) {
    const page: ShootPage = await listPage(deps, { labelSelector, limit, continue: token }, signal);
    await watch.onPage(page.shoots);
    if (signal.aborted) return null;
    token = page.continue;
    if (token === null) {
      await watch.onListed();
      return page.resourceVersion;
    }
  }
}

type PageRequest = { labelSelector: string; limit: number; continue: string | null };

/**
 * Handlers may take longer than a garden keeps the state that a list began with. It then offers to go on with newer
 * data: each Shoot is still seen once, and what changed on earlier pages meanwhile the next list tells (kubernetes.io/
 * docs/reference/using-api/api-concepts, "Retrieving large results sets in chunks").
 */
async function listPage(deps: CallDeps, request: PageRequest, signal: AbortSignal): Promise<ShootPage> {
  try {
    return await listShoots(deps, request, signal);
  } catch (error) {
    if (!isGardenError(error) || error.continueToken === null) throw error;
    return listShoots(deps, { ...request, continue: error.continueToken }, signal);
  }
}

async function handOverEvents(deps: CallDeps, watch: Told, progress: Progress, version: string): Promise<void> {
  const { labelSelector, signal, watchSeconds = 300, silenceMsMax = 150_000 } = watch;
  const startedAt = performance.now();
  const secondsToRelist = Math.ceil((progress.relistAt - startedAt) / 1_000);
  const timeoutSeconds = Math.max(1, Math.min(Math.round(watchSeconds * (1 + Math.random() / 5)), secondsToRelist));
  const onOpen = () => watch.onState({ phase: 'watching' });
  const request = { labelSelector, resourceVersion: version, timeoutSeconds, silenceMsMax, signal, onOpen };

  let items = 0;
  for await (const item of streamShoots(deps, request)) {
    if (signal.aborted) return;
    if (item.type !== 'bookmark') await watch.onEvent({ type: item.type, shoot: item.shoot });
    // Only what was handed over counts: when a handler fails, the same event comes again.
    progress.version = item.resourceVersion;
    progress.failures = 0;
    items += 1;
    if (performance.now() >= progress.relistAt) return;
  }
  if (items === 0 && performance.now() - startedAt < watchMsMin) {
    throw unreachableError({ verb: 'watch', resource: 'shoots', access: 'read' }, 'ended at once');
  }
  progress.failures = 0;
}

function delayAfter(error: unknown, failures: number): number {
  const asked = isGardenError(error) ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
  return (
    Math.min(asked, retryAfterMsMax) + fullJitterMs(failures, isGardenError(error, 'throttled') ? slowBackoff : backoff)
  );
}

function tell({ log }: CallDeps, { onState }: ShootWatch, state: WatchState): void {
  try {
    onState?.(state);
  } catch (error) {
    log.error('listener to the state of a watch failed', { error });
  }
}
