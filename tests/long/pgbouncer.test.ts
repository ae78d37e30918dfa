import { connectPool } from '@corral/database';
import { createTestDatabase, describeNeeding, startProcess, type TestDatabase, waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callDns } from '../support/clients/dns-api.js';
import { missingPgbouncer, startPgbouncer } from '../support/system/pgbouncer.js';
import { builtFile } from '../support/system/program.js';
import { startSystem, type Team, ZONE } from '../support/system/start-system.js';

/** A revoked token is refused within this time. */
const REVOKED_MS = 2_000;

describeNeeding(describe, missingPgbouncer(), 'behind PgBouncer', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  }, 60_000);
  afterAll(() => database?.drop());

  it.each(['dns-gateway', 'reconciler'])(
    'the service %s does not start in transaction mode, and says what to set',
    async (app) => {
      const pooler = await startPgbouncer(database.url, 'transaction');
      const running = await startProcess({
        command: process.execPath,
        args: [builtFile(`apps/${app}/dist/main.js`)],
        env: {
          DATABASE_URL: pooler.url,
          DNS_ZONE_NAME: ZONE,
          HCLOUD_TOKEN: 'x'.repeat(64),
          HOST: '127.0.0.1',
          PORT: '0',
          METRICS_PORT: '0',
        },
      });

      const { code } = await running.exited;
      await pooler.stop();

      expect(code).toBe(1);
      expect(running.output()).toContain('pool_mode = session');
    },
    60_000,
  );

  it('everything works in session mode, and statements have their limits', async () => {
    const pooler = await startPgbouncer(database.url, 'session');
    const system = await startSystem({ databaseUrl: pooler.url });
    const { token, slug } = system.teams[0] as Team;
    const read = async (): Promise<number> =>
      (await callDns(system.url, { method: 'GET', path: `/zones/${ZONE}/rrsets`, token })).status;
    const body = { name: `www.${slug}`, type: 'A', records: [{ value: '192.0.2.1' }] };

    const written = await callDns(system.url, { method: 'POST', path: `/zones/${ZONE}/rrsets`, token, body });
    await system.admin('zone', 'sync');
    await system.admin('zone', 'sync');
    const before = await read();
    const [issued] = JSON.parse(await system.admin('--json', 'token', 'list', slug)) as { id: string }[];
    await system.admin('token', 'revoke', slug, issued?.id as string);
    const revokedAt = performance.now();
    await waitFor('the token to be refused', async () => (await read()) === 401);
    const refusedAfterMs = performance.now() - revokedAt;
    const limited = connectPool({
      databaseUrl: pooler.url,
      applicationName: 'test',
      statementTimeoutMs: 200,
      onIdleError: () => undefined,
    });
    const late = await limited.query('SELECT pg_sleep(30)').catch((error: unknown) => error);
    await limited.end();
    await system.stop();
    await pooler.stop();

    expect(written.status).toBe(201);
    expect(before).toBe(200);
    expect(refusedAfterMs).toBeLessThan(REVOKED_MS);
    expect(late).toMatchObject({ code: '57014' });
  }, 180_000);
});
