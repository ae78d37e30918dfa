import type { Log } from './log.js';
import type { Metrics } from './metrics.js';

/** Resolves when the dependency answers, rejects when it does not. */
export type HealthCheck = (signal: AbortSignal) => Promise<unknown>;

interface HealthOptions {
  /** Checks by name of the dependency: `database`, `redis`. */
  checks: Readonly<Record<string, HealthCheck>>;
  /** Timeout of each check in ms. Default: 2,000. */
  deadlineMs?: number;
  /** Time in ms for which a result is reused, so that `/readyz` cannot flood the database. Default: 500. */
  freshMs?: number;
  log: Log;
  /** Gets a gauge of each check. */
  metrics?: Metrics;
}

interface Readiness {
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
export function createHealth({ checks, deadlineMs = 2_000, freshMs = 500, log, metrics }: HealthOptions): Health {
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
  const latestResult = (): Promise<Readiness> => {
    if (latest === undefined || performance.now() - latest.at >= freshMs) {
      latest = { at: performance.now(), answer: runChecks() };
    }
    return latest.answer;
  };
  metrics?.gauge({
    name: 'corral_dependency_up',
    help: 'Whether a dependency of the process answers: 1 or 0',
    labelNames: ['dependency'],
    async collect() {
      const { failing } = await latestResult();
      for (const dependency of Object.keys(checks)) this.set({ dependency }, failing.includes(dependency) ? 0 : 1);
    },
  });
  const shutdown: Readiness = { ready: false, failing: ['shutdown'] };
  const readiness = async (): Promise<Readiness> => {
    if (isRetired) return shutdown;
    const answer = await latestResult();
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
