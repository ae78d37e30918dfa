import { expect, it } from '@jest/globals';
import { runBesidePeople } from '../support/cli/beside-people.js';
import { readCrashPlan } from '../support/crashes/crash-plan.js';

const { seed, minutes } = readCrashPlan({ minutes: 10 });
const STARTS_AND_ENDS_MS = 600_000;

it(
  `a pipeline beside people destroys nothing that no plan named, loses nothing and explains every end, although all services are killed (seed ${seed})`,
  async () => {
    const run = await runBesidePeople({ seed, clusters: 20, ms: minutes * 60_000 });

    const { kills, runs, withheld, changes, removedPools } = run;
    process.stderr.write(
      `${kills} kills, ${runs} runs of apply, ${withheld} of them withheld, ${changes} changes by people, ${removedPools} removed pools\n`,
    );
    expect(run.contradictions).toEqual([]);
    for (const count of [kills, withheld, changes, removedPools]) expect(count).toBeGreaterThanOrEqual(minutes);
  },
  minutes * 60_000 + STARTS_AND_ENDS_MS,
);
