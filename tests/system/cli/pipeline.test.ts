import { expect, it } from '@jest/globals';
import { runPipeline } from '../../support/cli/pipeline.js';
import { readCrashPlan } from '../../support/crashes/crash-plan.js';

const { seed } = readCrashPlan({ minutes: 0 });

it(`a pipeline reports what is true, although both services are killed (seed ${seed})`, async () => {
  const run = await runPipeline({ seed, clusters: 5, kills: 3 });

  expect(run.contradictions).toEqual([]);
  expect(run.kills).toBeGreaterThanOrEqual(3);
});
