import { waitFor } from '@corral/testing';
import { expect } from '@jest/globals';
import { DEMO_ZONE, type System } from '../system/start-system.js';
import { findUnmatched } from './dns-history.js';
import { readEntries, writesIn } from './dns-judge.js';

/** Ends the lifetime of every demo of at least this age. */
export async function endDemos(pool: System['pool'], seconds: number): Promise<void> {
  await pool.query(
    `UPDATE demo SET created_at = created_at - interval '1 hour', expires_at = expires_at - interval '1 hour'
     WHERE ended_at IS NULL AND expires_at > clock_timestamp()
       AND created_at <= clock_timestamp() - make_interval(secs => $1)`,
    [seconds],
  );
}

/** Checks that every demo ends and that its remains are deleted, whatever happened to earlier tries. */
export async function clearDemos({ pool, cloud }: System): Promise<void> {
  await endDemos(pool, 0);
  await waitFor('the demo zone to be empty', async () => (await cloud.namesIn(DEMO_ZONE)).length === 0, {
    timeoutMs: 180_000,
  });
}

export async function expectDemosAreGone(system: System): Promise<void> {
  const entries = await readEntries(system, DEMO_ZONE);
  expect(findUnmatched(await writesIn(system, DEMO_ZONE), entries)).toEqual([]);
  expect(entries.filter(({ state }) => state === 'pending')).toEqual([]);
  const { rows } = await system.pool.query(
    `SELECT demo.label FROM demo LEFT JOIN dns_token AS token ON token.demo_id = demo.id
     WHERE ended_at IS NULL OR token.revoked_at IS NULL`,
  );
  expect(rows).toEqual([]);
}
