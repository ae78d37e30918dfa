import { randomInt } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { isRedisInstalled, redisForTests, type TestRedis, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type AnsweredWrite, runChaos } from '../support/chaos.js';
import type { UpstreamWrite } from '../support/local-cloud.js';
import { type System, startSystem } from '../support/start-system.js';
import { type AuditEntry, findUnmatched, keyOf, replay } from '../support/upstream-history.js';
import { ownSets, readMirror, SETTLED_WITHIN_MS, untilSettled } from '../support/whole.js';

/** `CORRAL_CRASH_ROUNDS=20` kills twenty times as often; `CORRAL_CRASH_SEED=…` repeats the choices of a run. */
const rounds = Number(process.env.CORRAL_CRASH_ROUNDS ?? 1);
const seed = Number(process.env.CORRAL_CRASH_SEED ?? randomInt(1, 1_000_000));
const RECORDS_PER_TEAM = 16;
const TEAMS = ['acme', 'globex', 'initech'];
/** Numbers of actions from here on are the gateway's own, for writes that were settled. */
const OWN_ACTIONS_FROM = 2 ** 52;

const backends = [
  { backend: 'Postgres', kills: 40 },
  ...(isRedisInstalled() || process.env.CORRAL_TEST_REDIS_URL ? [{ backend: 'Redis', kills: 12 }] : []),
];

describe.each(backends)('with jobs and limits on $backend', ({ backend, kills }) => {
  let redis: TestRedis | null = null;
  let system: System;

  beforeAll(async () => {
    if (backend === 'Redis') redis = await redisForTests();
    system = await startSystem({
      ...{ gateways: 2, reconcilers: 2, teams: TEAMS, redisUrl: redis?.url },
      gatewayEnv: { DNS_RECORDS_PER_TEAM: String(RECORDS_PER_TEAM), LOG_LEVEL: 'error' },
      reconcilerEnv: { DNS_SYNC_INTERVAL_MS: '3s', LOG_LEVEL: 'error' },
    });
  }, 120_000);
  afterEach(() => system.cloud.clearFaults());
  afterAll(async () => {
    await system.stop();
    await redis?.stop();
  }, 60_000);

  it(
    `loses nothing and invents nothing, whatever is killed and whatever fails (seed ${seed})`,
    async () => {
      process.stderr.write(`Crash test on ${backend}: CORRAL_CRASH_SEED=${seed}\n`);

      const chaos = await runChaos(system, { seed, kills: kills * rounds });
      await Promise.all([...system.gateways, ...system.reconcilers].map((program) => program.untilReady()));
      await untilSettled(system);
      await syncZone(system);

      const writes = await system.cloud.writes();
      const entries = await readEntries(system);
      const history = replay(writes);
      process.stderr.write(
        `${chaos.kills} kills, ${writes.length} writes upstream, ${chaos.answered.length} answers, ` +
          `${chaos.lost} requests without one, ${entries.filter(({ state }) => state === 'settled').length} settled\n`,
      );
      expect(chaos.problems).toEqual([]);
      expect(findUnmatched(writes, entries)).toEqual([]);
      expect(entries.filter((entry) => entry.state === 'pending')).toEqual([]);
      expect(chaos.answered.filter((answered) => !tookEffect(answered, writes, entries))).toEqual([]);
      expect(driftWithoutCause(writes, entries)).toEqual([]);
      for (const { slug } of system.teams) expect(history.peaks.get(slug)).toBeLessThanOrEqual(RECORDS_PER_TEAM);
      const stated = await system.cloud.stated();
      for (const team of system.teams) expect(await readMirror(system, team)).toEqual(ownSets(stated, team));
      expect(comparable(stated)).toEqual(comparable(history.sets));
      expect(chaos.kills).toBeGreaterThanOrEqual(kills * rounds);
      expect(chaos.answered.some(({ code }) => code === 'resource_limit_exceeded')).toBe(true);
    },
    120_000 + rounds * 120_000,
  );
});

/** The operator's own command. A set that was written just now is left to the next run. */
async function syncZone(system: System): Promise<void> {
  await waitFor(
    'a sync that could compare every set',
    async () => {
      const { skipped } = JSON.parse(await system.admin('--json', 'zone', 'sync')) as { skipped: number };
      expect(skipped).toBe(0);
      return true;
    },
    { timeoutMs: SETTLED_WITHIN_MS },
  );
}

interface Entry extends AuditEntry {
  readonly actor: string;
}

async function readEntries({ pool }: System): Promise<Entry[]> {
  const { rows } = await pool.query<Entry>(
    `SELECT id, actor, name, type, operation, state, request_body AS "requestBody", upstream_body AS "upstreamBody",
            found_applied AS "foundApplied"
     FROM dns_audit_entry WHERE name <> '@' ORDER BY id`,
  );
  return rows;
}

/** Whether what a client was told is accepted is in the upstream's log: there it has its effect until a later write. */
function tookEffect(
  { key, status, actionId, request }: AnsweredWrite,
  writes: readonly UpstreamWrite[],
  entries: readonly Entry[],
): boolean {
  if (status >= 300) return true;
  const isSame = ({ name, type, body }: UpstreamWrite): boolean =>
    keyOf({ name, type }) === keyOf(key) && isDeepStrictEqual(body, request.body ?? null);
  if (actionId === null || actionId < OWN_ACTIONS_FROM) {
    return writes.some((write) => write.actionId === actionId && isSame(write));
  }
  const entry = entries.find(({ id }) => id === actionId - OWN_ACTIONS_FROM);
  if (entry?.state !== 'settled' || keyOf(entry) !== keyOf(key)) return false;
  // What is gone may have been gone before; all else is known by its mark.
  const leavesNoMark = entry.operation === 'delete' || entry.operation === 'remove_records';
  return entry.foundApplied === true && (leavesNoMark || writes.some(isSame));
}

/** The mirror follows every write by itself. Only an action that failed after all is left for a sync to find. */
function driftWithoutCause(writes: readonly UpstreamWrite[], entries: readonly Entry[]): Entry[] {
  const failed = new Set(writes.filter((write) => write.actionError !== null).map(keyOf));
  return entries.filter((entry) => entry.actor === 'upstream' && !failed.has(keyOf(entry)));
}

/** What both the upstream's list and our reading of its log say of the teams' sets. */
function comparable(sets: ReadonlyMap<string, unknown>): Record<string, object> {
  const entries = [...sets].flatMap(([id, rrset]) => {
    const { ttl, labels, records } = typeof rrset === 'string' ? JSON.parse(rrset) : rrset;
    return id.startsWith('@/') ? [] : [[id, { ttl, labels, records }] as const];
  });
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
}
