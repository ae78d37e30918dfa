import { applyMigrations, connectPool } from '@corral/database';
import {
  type FlakyProxy,
  type PostgresServer,
  type Standby,
  startFlakyProxy,
  startPostgres,
  startStandby,
  waitFor,
} from '@corral/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startLoad, untilWritten } from '../support/clients/background-load.js';
import { untilSettled } from '../support/system/mirror.js';
import { builtFile } from '../support/system/program.js';
import { type System, shortLeases, startSystem, type Team, ZONE } from '../support/system/start-system.js';
import { undo } from '../support/system/system-parts.js';

/*
 * A failover as docs/postgres.md describes it: a primary with a synchronous standby is lost, the standby is promoted, and the address of the
 * database moves. The address leads to the standby before it is the primary.
 */

/** Longest wait for a turn at the upstream. Postgres is away for longer. */
const WAIT_MS = 2_000;

const ends: (() => Promise<unknown>)[] = [];
const address = { host: '127.0.0.1', port: 0 };
let primary: PostgresServer;
let standby: Standby;
let proxy: FlakyProxy;
let system: System;

beforeAll(async () => {
  primary = await startPostgres({ settings: ['synchronous_commit=on'] });
  ends.push(() => primary.stop());
  await applyMigrations({ databaseUrl: primary.url, migrationsDir: builtFile('prisma/migrations') });
  standby = await startStandby(primary);
  ends.push(() => standby.stop());
  await onPrimary(`ALTER SYSTEM SET synchronous_standby_names = '*'`);
  await onPrimary('SELECT pg_reload_conf()');
  address.port = primary.port;
  proxy = await startFlakyProxy(address);
  ends.push(proxy.close);
  const moving = new URL(primary.url);
  moving.port = String(proxy.port);
  system = await startSystem({
    gateways: 2,
    databaseUrl: moving.href,
    gatewayEnv: { ...shortLeases, UPSTREAM_WAIT_MS: String(WAIT_MS) },
  });
  ends.push(system.stop);
}, 300_000);
afterAll(() => undo(ends), 120_000);

it('writes continue after the standby was promoted, and no accepted one is lost', async () => {
  const load = startLoad(system.url, system.teams[0] as Team);
  ends.push(load.stop);
  await untilWritten(load, 20);
  const pids = system.gateways.map(({ pid }) => pid);

  await primary.stop();
  const leftAt = performance.now();
  address.port = standby.port;
  proxy.restore();
  const readyz = () => fetch(new URL('/readyz', system.url));
  await waitFor('reads and writes to be refused', () =>
    [true, false].every((isWrite) =>
      load.answers.some((answer) => answer.isWrite === isWrite && answer.status === 503),
    ),
  );
  await waitFor('readiness to say so', async () => (await readyz()).status === 503);
  await waitFor('waits for the upstream to end', () => performance.now() - leftAt > 2 * WAIT_MS);
  await standby.promote();
  await waitFor('readiness', async () => (await readyz()).status === 200, { timeoutMs: 30_000 });
  await untilWritten(load, 20);
  await load.stop();
  await untilSettled(system);

  expect(load.failures).toEqual([]);
  const refused = load.answers.filter(({ status }) => status >= 500);
  expect(refused.map(({ status, json }) => [status, json.error.code])).toEqual(refused.map(() => [503, 'unavailable']));
  expect(system.gateways.map(({ pid }) => pid)).toEqual(pids);
  // A write that was never sent, and whose end could not be noted, is settled without an effect.
  const { rows } = await system.pool.query<{ count: number }>(
    `SELECT count(*) FROM dns_audit_entry WHERE state = 'completed' OR state = 'settled' AND found_applied`,
  );
  const writes = (await system.cloud.writes()).filter(({ zone }) => zone === ZONE);
  expect(rows[0]?.count).toBe(writes.length);
}, 180_000);

async function onPrimary(statement: string): Promise<void> {
  const pool = connectPool({ databaseUrl: primary.url, applicationName: 'operator', onIdleError: () => undefined });
  await pool.query(statement);
  await pool.end();
}
