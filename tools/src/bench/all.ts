import { benchChanges } from './clusters/changes.js';
import { benchReconcile } from './clusters/reconcile.js';
import { benchStreams } from './clusters/streams.js';
import { benchDns } from './dns/dns.js';
import { benchGrowth } from './growth/growth.js';
import { say } from './load/report.js';
import { benchStart } from './start/start.js';
import { type Verdict, verdictTable } from './verdicts.js';

/** In the order of the table. Each starts its own installation, and returns its verdicts. */
const parts = {
  dns: ({ isLong }) =>
    benchDns(
      isLong
        ? { readSeconds: 5, writeSeconds: 5, explains: true }
        : { readSeconds: 1, writeSeconds: 2, explains: false },
    ),
  changes: ({ isLong }) => benchChanges({ seconds: isLong ? 20 : 4, explains: isLong }),
  reconcile: ({ isLong }) =>
    benchReconcile(
      isLong
        ? { seconds: 15, workers: [1, 2, 4], steady: { clusters: 10_000, settleSeconds: 60, seconds: 65 } }
        : { seconds: 8, workers: [1, 4], steady: { clusters: 1_000, settleSeconds: 32, seconds: 22 } },
    ),
  start: () => benchStart(),
  streams: ({ isLong }) =>
    benchStreams({ streams: 1_000, ...(isLong ? { seconds: 60, restSeconds: 35 } : { seconds: 10, restSeconds: 5 }) }),
  growth: ({ isLong }) => benchGrowth({ isLong }),
} satisfies Record<string, (options: AllBenchOptions) => Promise<readonly Verdict[]>>;

export interface AllBenchOptions {
  /** Whether each part measures as long as it does by itself. Otherwise all of them take less than ten minutes. */
  readonly isLong: boolean;
}

/** Measures all paths with an aim, and prints one table. @returns whether all aims are reached */
export async function benchAll(options: AllBenchOptions): Promise<boolean> {
  const verdicts: Verdict[] = [];
  for (const [name, measure] of Object.entries(parts)) {
    const begunAt = performance.now();
    say(`\n## ${name}\n`);
    try {
      verdicts.push(...(await measure(options)));
    } catch (error) {
      // The others are still worth knowing.
      const measured = error instanceof Error ? error.message : String(error);
      verdicts.push({ what: name, floor: '–', measured, aim: 'to be measured', isMet: false });
    }
    say(`\n${name} took ${((performance.now() - begunAt) / 1_000).toFixed(0)} s.`);
  }
  say(`\n${verdictTable(verdicts)}`);
  return verdicts.every(({ isMet }) => isMet);
}
