import { connectPool } from '@corral/database';
import { describeNeeding, startProcess, waitFor } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { callDns } from '../support/clients/dns-api.js';
import { missingPgbouncer, startPgbouncer } from '../support/system/pgbouncer.js';
import { builtFile } from '../support/system/program.js';
import { startSystem, type Team, ZONE } from '../support/system/start-system.js';
import { type Ends, ownDatabase, undo } from '../support/system/system-parts.js';

/** A revoked token is refused within this time. */
const REVOKED_MS = 2_000;

describeNeeding(describe, missingPgbouncer(), 'behind PgBouncer', () => {
  const ends: Ends = [];
  afterEach(() => undo(ends));

  it.each(['dns-gateway', 'reconciler'])(
    'the service %s does not start in transaction mode, and says what to set',
    async (app) => {
      const url = await startPgbouncer(ends, await ownDatabase(ends), 'transaction');
      const running = await startProcess({
        command: process.execPath,
        args: [builtFile(`apps/${app}/dist/main.js`)],
        env: {
          DATABASE_URL: url,
          DNS_ZONE_NAME: ZONE,
          HCLOUD_TOKEN: 'x'.repeat(64),
          HOST: '127.0.0.1',
          PORT: '0',
          METRICS_PORT: '0',
        },
      });

      const { code } = await running.exited;

      expect(code).toBe(1);
      expect(running.output()).toContain('pool_mode = session');
    },
    60_000,
  );

  it('everything works in session mode, and statements have their limits', async () => {
    const url = await startPgbouncer(ends, await ownDatabase(ends), 'session');
    const system = await startSystem({ databaseUrl: url });
    ends.push(system.stop);
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
      databaseUrl: url,
      applicationName: 'test',
      statementTimeoutMs: 200,
      onIdleError: () => undefined,
    });
    const late = await limited.query('SELECT pg_sleep(30)').catch((error: unknown) => error);
    await limited.end();

    expect(written.status).toBe(201);
    expect(before).toBe(200);
    expect(refusedAfterMs).toBeLessThan(REVOKED_MS);
    expect(late).toMatchObject({ code: '57014' });
  }, 180_000);
});
