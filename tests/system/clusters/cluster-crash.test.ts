import { missingRedisServer, showsLessWithout } from '@corral/testing';
import { afterAll, expect, it } from '@jest/globals';
import { recordRowChanges } from '../../support/clusters/row-history.js';
import { shortTimeouts, startClusterSystem } from '../../support/clusters/start-cluster-system.js';
import { runClusterChaos } from '../../support/crashes/cluster-clients.js';
import { findContradictions, untilSettled } from '../../support/crashes/cluster-judge.js';
import { disturbedStores } from '../../support/crashes/disturbed-stores.js';
import { minutes, seed } from '../../support/crashes/draw.js';
import { toldReceivers } from '../../support/crashes/told-receivers.js';
import { type Ends, undo } from '../../support/system/system-parts.js';

/** `npm test` ends when each process was killed. */
const [WORKERS, KILLS_MIN] = minutes > 0 ? [3, 6] : [2, 4];
const HOUR_MS = 3_600_000;

const ends: Ends = [];
afterAll(() => undo(ends));

showsLessWithout(missingRedisServer());

it(
  `clusters keep every promise, whatever is killed, restarted or forgotten, and however wrong the clocks are (seed ${seed})`,
  async () => {
    process.stderr.write(`Crash test of clusters: CORRAL_CRASH_SEED=${seed}\n`);
    const { disturbances, ...stores } = await disturbedStores(ends, seed);
    const system = await startClusterSystem({
      apis: 2,
      reconcilers: WORKERS,
      teams: ['acme', 'globex'],
      ...stores,
      clockShiftsMs: [-3 * HOUR_MS, 5 * HOUR_MS],
      apiEnv: { LOG_LEVEL: 'error', ...shortTimeouts },
      reconcilerEnv: { LOG_LEVEL: 'error', ...shortTimeouts },
    });
    ends.push(system.stop);
    await recordRowChanges(system.pool);
    const findUntold = await toldReceivers(system, ends);

    const chaos = await runClusterChaos(system, { seed, minutes, kills: KILLS_MIN, disturbances });
    expect(chaos.problems).toEqual([]);
    await untilSettled(system);

    const { kills, requests, operations, accepted } = chaos;
    process.stderr.write(`${JSON.stringify({ kills, requests, operations: operations.length, accepted })}\n`);
    expect([...(await findContradictions(system, chaos)), ...(await findUntold())]).toEqual([]);
    expect(kills).toBeGreaterThanOrEqual(KILLS_MIN);
  },
  1_200_000 + minutes * 2 * 60_000,
);
