import { missingRedisServer, showsLessWithout } from '@corral/testing';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { runClusterChaos } from '../../support/cluster-crashes/chaos.js';
import { findContradictions, untilSettled } from '../../support/cluster-crashes/settled.js';
import { toldReceivers } from '../../support/cluster-crashes/told-receivers.js';
import { recordRowChanges } from '../../support/clusters/row-history.js';
import { type ClusterSystem, shortTimeouts, startClusterSystem } from '../../support/clusters/start-cluster-system.js';
import { readCrashPlan } from '../../support/crashes/crash-plan.js';
import { type Disturbance, disturbedStores } from '../../support/crashes/disturb.js';
import { undo } from '../../support/system/system-parts.js';

const { seed, minutes } = readCrashPlan({ minutes: 0 });
/** `npm test` ends when each process was killed. */
const [WORKERS, KILLS_MIN] = minutes > 0 ? [3, 6] : [2, 4];
const HOUR_MS = 3_600_000;

const ends: (() => Promise<unknown>)[] = [];
let disturbances: readonly Disturbance[];
let system: ClusterSystem;

showsLessWithout(missingRedisServer());

beforeAll(async () => {
  const stores = await disturbedStores(ends, seed);
  const { databaseUrl, redisUrl } = stores;
  disturbances = stores.disturbances;
  system = await startClusterSystem({
    apis: 2,
    reconcilers: WORKERS,
    teams: ['acme', 'globex'],
    redisUrl,
    databaseUrl,
    clockShiftsMs: [-3 * HOUR_MS, 5 * HOUR_MS],
    apiEnv: { LOG_LEVEL: 'error', ...shortTimeouts },
    reconcilerEnv: { LOG_LEVEL: 'error', ...shortTimeouts },
  });
  ends.push(system.stop);
  await recordRowChanges(system.pool, ['cluster', 'operation', 'audit_entry']);
});
afterEach(() => system?.cloud.clearFaults());
afterAll(() => undo(ends));

it(
  `clusters keep every promise, whatever is killed, restarted or forgotten, and however wrong the clocks are (seed ${seed})`,
  async () => {
    process.stderr.write(`Crash test of clusters: CORRAL_CRASH_SEED=${seed}\n`);
    const findUntold = await toldReceivers(system, ends);

    const chaos = await runClusterChaos(system, { seed, minutes, kills: KILLS_MIN, disturbances });
    await Promise.all([...system.apis, ...system.reconcilers].map((program) => program.untilReady()));
    await untilSettled(system);

    process.stderr.write(
      `${chaos.kills} kills, ${chaos.requests} requests, ${chaos.acceptedOperations.length} operations, ` +
        `accepted: ${JSON.stringify(chaos.accepted)}\n`,
    );
    expect([...(await findContradictions(system, chaos)), ...(await findUntold())]).toEqual([]);
    expect(chaos.kills).toBeGreaterThanOrEqual(KILLS_MIN);
  },
  1_200_000 + minutes * 2 * 60_000,
);
