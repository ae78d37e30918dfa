import type { Log } from './log.js';

/** Resolves when the dependency answers, rejects when it does not. */
export type HealthCheck = (signal: AbortSignal) => Promise<unknown>;

export interface HealthOptions {
  /** Checks by name of the dependency: `database`, `redis`. */
  checks: Readonly<Record<string, HealthCheck>>;
  /** Timeout of each check in ms. Default: 2,000. */
  deadlineMs?: number;
  /** Time in ms for which a result is reused, so that `/readyz` cannot flood the database. Default: 500. */
  freshMs?: number;
  log: Log;
}

export interface Readiness {
  readonly ready: boolean;
  readonly failing: readonly string[];
}

export interface Health {
  /** Whether requests can be served, and which checks fail. */
  readiness(): Promise<Readiness>;
  /** Aborts when no more connections are accepted; long answers then end. */
  readonly draining: AbortSignal;
  /** Becomes not ready permanently. Requests are still served. */
  retire(): void;
  /** Retires, and ends long answers. */
  drain(): void;
}

/** Liveness and readiness of a process. */
export function createHealth({ checks, deadlineMs = 2_000, freshMs = 500, log }: HealthOptions): Health {
  const drained = new AbortController();
  let isRetired = false;
  const failingBefore = new Set<string>();
  let latest: { readonly at: number; readonly answer: Promise<Readiness> } | undefined;

  const passes = async (name: string, check: HealthCheck): Promise<boolean> => {
    try {
      await withDeadline(check, deadlineMs);
      if (failingBefore.delete(name)) log.info('dependency is back', { dependency: name });
      return true;
    } catch (error) {
      // The answer names only the check. The reason is logged once per outage.
      if (!failingBefore.has(name)) log.error('dependency is not ready', { dependency: name, error });
      failingBefore.add(name);
      return false;
    }
  };
  const runChecks = async (): Promise<Readiness> => {
    const results = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => ({ name, passed: await passes(name, check) })),
    );
    const failing = results.filter(({ passed }) => !passed).map(({ name }) => name);
    return { ready: failing.length === 0, failing };
  };
  const shutdown: Readiness = { ready: false, failing: ['shutdown'] };
  const readiness = async (): Promise<Readiness> => {
    if (isRetired) return shutdown;
    if (latest === undefined || performance.now() - latest.at >= freshMs) {
      latest = { at: performance.now(), answer: runChecks() };
    }
    const answer = await latest.answer;
    return isRetired ? shutdown : answer;
  };
  return {
    readiness,
    draining: drained.signal,
    retire() {
      isRetired = true;
    },
    drain() {
      isRetired = true;
      drained.abort();
    },
  };
}

async function withDeadline(check: HealthCheck, deadlineMs: number): Promise<void> {
  const gaveUp = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      gaveUp.abort();
      reject(new Error(`no answer within ${deadlineMs} ms`));
    }, deadlineMs);
  });
  try {
    await Promise.race([check(gaveUp.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}
