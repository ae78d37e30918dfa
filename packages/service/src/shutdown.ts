import { constants } from 'node:os';
import type { Log } from './log.js';

export interface ShutdownStep {
  readonly name: string;
  /** @param how `immediately`: after an unexpected error, without a drain delay */
  close(how: { readonly immediately: boolean }): unknown;
  /** Default: the rest of the grace period. */
  readonly deadlineMs?: number;
}

interface ShutdownOptions {
  log: Log & { flush?(): Promise<void> };
  /** Time for all steps together in ms. Keep it below the platform's kill timeout. */
  graceMs: number;
}

/** Minimum time of each step, even after the grace period. */
const STEP_MS_MIN = 500;

/**
 * Ends the process in order on SIGTERM, SIGINT, an unhandled rejection or an uncaught exception: runs the steps one
 * after the other, each with a deadline, and exits with 0 when all ended and a signal asked for it, else with 1. A
 * second signal exits immediately.
 *
 * @param steps in the order in which they close: servers first, then what requests in flight still need
 * @returns a function that ends the process the same way
 */
export function onShutdown({ log, graceMs }: ShutdownOptions, steps: readonly ShutdownStep[]): () => void {
  let begun = false;
  const shutdown = async (exitCode: number, immediately = false): Promise<void> => {
    if (begun) return;
    begun = true;
    const clean = await closeAll(steps, { graceMs, immediately }, log);
    await log.flush?.();
    process.exit(clean ? exitCode : 1);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (begun) process.exit(128 + constants.signals[signal]);
      log.info('shutdown begins', { signal, graceMs });
      void shutdown(0);
    });
  }
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      log.error('unexpected error ends the process', { event, error });
      void shutdown(1, true);
    });
  }
  return () => void shutdown(0);
}

async function closeAll(
  steps: readonly ShutdownStep[],
  { graceMs, immediately }: { readonly graceMs: number; readonly immediately: boolean },
  log: Log,
): Promise<boolean> {
  const endsAt = performance.now() + graceMs;
  let clean = true;
  for (const step of steps) {
    const leftMs = Math.max(endsAt - performance.now(), STEP_MS_MIN);
    const failure = await closeWithin(step, { immediately }, Math.min(step.deadlineMs ?? leftMs, leftMs));
    if (failure === undefined) continue;
    clean = false;
    log.error('shutdown step failed', { step: step.name, error: failure });
  }
  log.info('shutdown ends', { clean });
  return clean;
}

async function closeWithin(
  step: ShutdownStep,
  how: { readonly immediately: boolean },
  deadlineMs: number,
): Promise<Error | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Error>((resolve) => {
    timer = setTimeout(() => resolve(new Error(`not closed within ${Math.round(deadlineMs)} ms`)), deadlineMs);
  });
  try {
    const closed = Promise.resolve(step.close(how)).then(() => undefined);
    return await Promise.race([closed, late]);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  } finally {
    clearTimeout(timer);
  }
}
