import { createTestDatabase, patientPool, type TestDatabase } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { connectPool, type Pool, type ProcessRegister, registerProcess } from '../src/index.js';

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = connectPool({
    databaseUrl: database.url,
    applicationName: 'test',
    onIdleError: () => undefined,
    ...patientPool,
  });
});
const registers: ProcessRegister[] = [];
afterEach(async () => {
  for (const register of registers.splice(0)) await register.close();
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

async function start(service = 'gateway', through: Pick<Pool, 'query'> = pool) {
  const errors: Error[] = [];
  const register = await registerProcess({ pool: through, service, onError: (error) => errors.push(error) });
  registers.push(register);
  return { ...register, errors };
}
const rows = async (): Promise<number> =>
  Number((await pool.query('SELECT count(*) AS count FROM service_process')).rows[0].count);

describe('a process in the register', () => {
  it('sees the number of live processes of its service, itself included', async () => {
    const counts: number[] = [];
    for (const service of ['gateway', 'gateway', 'api', 'gateway']) counts.push((await start(service)).count());

    expect(counts).toEqual([1, 2, 1, 3]);
  });

  it('is not counted once it has left', async () => {
    const first = await start();

    await first.close();

    expect((await start()).count()).toBe(1);
    expect(await rows()).toBe(1);
  });

  it('ignores processes that were silent lately, and deletes the rows of those long gone', async () => {
    await start();
    await start();
    await pool.query(`UPDATE service_process SET seen_at = clock_timestamp() - interval '16 seconds'`);
    expect((await start()).count()).toBe(1);

    await pool.query(`UPDATE service_process SET seen_at = clock_timestamp() - interval '61 minutes'`);
    expect((await start()).count()).toBe(1);
    expect(await rows()).toBe(1);
  });

  it('counts as one process while the database is unavailable', async () => {
    const away = { query: () => Promise.reject(new Error('away')) } as unknown as Pool;

    const { count, errors } = await start('gateway', away);

    expect([count(), errors.map(({ message }) => message)]).toEqual([1, ['away']]);
  });
});
