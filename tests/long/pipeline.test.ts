import { expect, it } from '@jest/globals';
import { runPipeline } from '../support/cli/pipeline.js';
import { readCrashPlan } from '../support/crashes/crash-plan.js';

const { seed } = readCrashPlan({ minutes: 0 });
const RUN_MS = 1_800_000;

it(
  `a pipeline creates, changes and deletes 40 clusters and reports what is true, although both services are killed (seed ${seed})`,
  async () => {
    const run = await runPipeline({ seed, clusters: 40, kills: 40 });

    process.stderr.write(
      `${run.kills} kills, ${run.runs} runs of corral, ${run.repeated} of them repeated, ${run.operations} reported operations\n`,
    );
    expect(run.contradictions).toEqual([]);
    expect(run.kills).toBeGreaterThanOrEqual(40);
  },
  RUN_MS,
);
