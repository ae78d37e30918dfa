import { isDeepStrictEqual } from 'node:util';
import { waitFor } from '@corral/testing';
import { expect } from '@jest/globals';
import type { UpstreamWrite } from '../system/local-cloud.js';
import { ownSets, readMirror, SETTLED_WITHIN_MS, untilSettled } from '../system/mirror.js';
import { type System, ZONE } from '../system/start-system.js';
import type { AnsweredWrite } from './dns-clients.js';
import { type AuditEntry, findUnmatched, keyOf, ownerOf, type Peak, replay } from './dns-history.js';

/** Action numbers from here on belong to the gateway, for writes that it settled. */
const OWN_ACTIONS_FROM = 2 ** 52;

export interface Judged {
  /** The writes that the upstream accepted. */
  readonly writes: number;
  /** How many of these have an action that ended in an error. */
  readonly failed: number;
  /** Writes whose answer was lost and whose outcome was found by reading. */
  readonly settled: number;
}

/**
 * Waits until all work has settled, and compares the accounts of what happened: the log of the upstream, the audit log, the
 * answers to clients, and the mirror. All faults have ended, and every process runs.
 *
 * @throws Error if they do not agree
 */
export async function expectNothingLostOrInvented(
  system: System,
  answered: readonly AnsweredWrite[],
  { recordsPerTeam }: { recordsPerTeam: number },
): Promise<Judged> {
  await untilSettled(system);
  await untilSynced(system);

  const writes = await writesIn(system, ZONE);
  const entries = await readEntries(system, ZONE);
  const history = replay(writes);
  expect(findUnmatched(writes, entries)).toEqual([]);
  expect(entries.filter((entry) => entry.state === 'pending')).toEqual([]);
  expect(answered.filter((each) => !tookEffect(each, writes, entries))).toEqual([]);
  expect(driftWithoutCause(writes, entries)).toEqual([]);
  expect(aboveQuota(history.peaks, writes, recordsPerTeam)).toEqual([]);
  const stated = await system.cloud.stated();
  for (const team of system.teams) expect(await readMirror(system, team)).toEqual(ownSets(stated, team));
  expect(comparable(stated)).toEqual(comparable(history.sets));
  return {
    writes: writes.length,
    failed: writes.filter(({ actionError }) => actionError !== null).length,
    settled: entries.filter(({ state }) => state === 'settled').length,
  };
}

/** The upstream log of one zone. */
export async function writesIn({ cloud }: System, zone: string): Promise<UpstreamWrite[]> {
  return (await cloud.writes()).filter((write) => write.zone === zone);
}

export interface Entry extends AuditEntry {
  readonly actor: string;
}

/** The entries of the audit log about the sets of one zone. */
export async function readEntries({ pool }: System, zone: string): Promise<Entry[]> {
  const { rows } = await pool.query<Entry>(
    `SELECT entry.id, actor, entry.name, type, operation, state, request_body AS "requestBody",
            upstream_body AS "upstreamBody", found_applied AS "foundApplied"
     FROM dns_audit_entry AS entry JOIN dns_zone AS zone ON zone.id = entry.zone_id
     WHERE zone.name = $1 AND entry.name <> '@' AND type <> 'DEMO' ORDER BY entry.id`,
    [zone],
  );
  return rows;
}

/** Waits for a sync that begins now and compares every set: one leaves recently written sets to the next. */
async function untilSynced({ pool }: System): Promise<void> {
  const { rows: asked } = await pool.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  await waitFor(
    'a sync that could compare every set',
    async () => {
      const { rows } = await pool.query(
        `SELECT state, skipped, failure, started_at FROM dns_sync_run
         WHERE zone_name = $1 AND started_at >= $2 ORDER BY started_at`,
        [ZONE, asked[0]?.now],
      );
      if (rows.some(({ state, skipped }) => state === 'succeeded' && skipped === 0)) return true;
      throw new Error(JSON.stringify(rows));
    },
    { timeoutMs: SETTLED_WITHIN_MS },
  );
}

/** Whether a write with a 2xx answer is in the upstream log. It has its effect there until a later write. */
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
  // A deleted set may have been deleted before. Everything else is known by its mark.
  const leavesNoMark = entry.operation === 'delete' || entry.operation === 'remove_records';
  return entry.foundApplied === true && (leavesNoMark || writes.some(isSame));
}

/** The mirror follows every write by itself. Only an action that failed late is left for a sync to find. */
function driftWithoutCause(writes: readonly UpstreamWrite[], entries: readonly Entry[]): Entry[] {
  const failed = new Set(writes.filter((write) => write.actionError !== null).map(keyOf));
  return entries.filter((entry) => entry.actor === 'upstream' && !failed.has(keyOf(entry)));
}

/** Teams that had more records than their quota, with the last writes to their sets until then. */
const aboveQuota = (peaks: ReadonlyMap<string, Peak>, writes: readonly UpstreamWrite[], recordsPerTeam: number) =>
  [...peaks]
    .filter(([, { records }]) => records > recordsPerTeam)
    .map(([slug, { records, seq }]) => {
      const until = writes.filter((write) => ownerOf(write.name) === slug && write.seq <= seq);
      return { slug, records, writes: until.slice(-40) };
    });

/** The sets of the teams, on which the list of the upstream and our replay of its log must agree. */
function comparable(sets: ReadonlyMap<string, unknown>): Record<string, object> {
  const entries = [...sets].flatMap(([id, rrset]) => {
    const { ttl, labels, records } = typeof rrset === 'string' ? JSON.parse(rrset) : rrset;
    return id.startsWith('@/') ? [] : [[id, { ttl, labels, records }] as const];
  });
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
}
