import { access, chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { onConnection } from '../../src/postgres/connection.js';
import { persistentDataDirectory } from '../../src/postgres/data-directory.js';
import { startPostgres } from '../../src/postgres/start-postgres.js';
import { startProcess } from '../../src/process/start-process.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-start-postgres-'));
  await chmod(folder, 0o755);
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** Data of a stopped server, created once because that is most of the cost of a new server. */
let dataDir: string;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'corral-start-postgres-'));
  await chmod(home, 0o755);
  dataDir = join(home, 'postgres');
  await (await startPostgres({ dataDir })).stop();
});
afterAll(() => rm(home, { recursive: true, force: true }));

const query = async (url: string, sql: string): Promise<unknown> =>
  (await onConnection(url, (client) => client.query(sql))).rows[0];

describe('startPostgres', () => {
  it('runs servers side by side on different ports, and leaves no folder behind', async () => {
    const [one, two] = await Promise.all([startPostgres(), startPostgres()]);
    const shown = (await query(one.url, 'SHOW data_directory')) as Record<string, string>;

    expect(await query(one.url, "SELECT current_setting('server_version_num')::int >= 180000 AS ok")).toEqual({
      ok: true,
    });
    expect(await query(two.url, 'SHOW fsync')).toEqual({ fsync: 'off' });
    expect(one.port).not.toBe(two.port);
    await expect(startPostgres({ port: one.port })).rejects.toThrow(/could not bind/);
    await Promise.all([one.stop(), two.stop(), two.stop()]);
    await expect(access(dirname(String(shown.data_directory)))).rejects.toThrow('ENOENT');
  });

  it('keeps the data of a named folder durably, and restarts at the same URL', async () => {
    await chmod(folder, 0o700); // inaccessible even to the user that runs Postgres for root
    const dataDir = join(folder, 'corral', 'postgres');
    const first = await startPostgres({ dataDir });
    await query(first.url, 'CREATE TABLE keeps AS SELECT 42 AS answer');
    await first.stop();

    const second = await startPostgres({ dataDir, port: first.port });

    expect(second.url).toBe(first.url);
    expect(await query(second.url, 'SELECT answer FROM keeps')).toEqual({ answer: 42 });
    expect(await query(second.url, 'SHOW fsync')).toEqual({ fsync: 'on' });
    await second.stop();
    await rm(await realpath(dataDir), { recursive: true });
  });

  it('rejects a folder on which a server is running, with instructions', async () => {
    const running = await startPostgres({ dataDir });

    const taking = persistentDataDirectory(dataDir, { patienceMs: 50 });

    await expect(taking).rejects.toThrow('Stop the Corral that started it first');

    await running.stop();
  });

  it('starts again after its owner was killed', async () => {
    const library = new URL('../../dist/index.js', import.meta.url).href;
    const script = `import('${library}').then(({ startPostgres }) => startPostgres({ dataDir: '${dataDir}' }))
      .then(() => { console.log('started'); setInterval(() => undefined, 1000); });`;
    const owner = await startProcess({ command: process.execPath, args: ['-e', script], readyLine: 'started' });
    owner.kill('SIGKILL');
    await owner.exited;

    const server = await startPostgres({ dataDir });

    expect(await query(server.url, 'SELECT 1 AS one')).toEqual({ one: 1 });
    await server.stop();
  });

  it('starts although postmaster.pid names an unrelated process', async () => {
    await writeFile(join(dataDir, 'data', 'postmaster.pid'), `${process.pid}\n${dataDir}/data\n1\n5432\n`);

    const server = await startPostgres({ dataDir });

    expect(await query(server.url, 'SELECT 1 AS one')).toEqual({ one: 1 });
    await server.stop();
  });

  it('reports a folder of another user', async () => {
    const dataDir = join(folder, 'postgres');
    await mkdir(dataDir);
    jest.spyOn(process, 'getuid').mockReturnValue(4_242);

    const starting = startPostgres({ dataDir });

    await expect(starting).rejects.toThrow(`${dataDir} belongs to another user`);
    jest.restoreAllMocks();
  });
});
