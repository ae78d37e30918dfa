import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEmptyDatabase, startPostgres, waitFor } from '@corral/testing';
import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { connectQueue } from '../../src/connect-queue.js';
import { startWorker } from '../../src/start-worker.js';
import { memoryLog, someQueues } from '../backends.js';

describe('a restart of Postgres', () => {
  it('loses no waiting job and floods no log', async () => {
    const home = await mkdtemp(join(tmpdir(), 'corral-queue-restart-'));
    await chmod(home, 0o755); // under root, Postgres runs as another user
    const dataDir = join(home, 'postgres');
    const first = await startPostgres({ dataDir });
    const { log, lines } = memoryLog();
    const options = { databaseUrl: first.url, log };
    const queue = connectQueue(options);
    let runs = 0;
    const queues = someQueues({ 'settle-writes': async () => (runs += 1) });
    const worker = startWorker({ ...options, queues, closeMs: 500, lockMs: 1_000 });
    await worker.ready;
    await queue.send('settle-writes', {}, { jobId: 'later', delayMs: 1_000 });

    await first.stop();
    const second = await startPostgres({ dataDir, port: first.port });

    await waitFor('the job from before the restart', () => runs === 1);
    await waitFor('a new job to be taken', () => queue.send('settle-writes', {}).then(() => true));
    await waitFor('the new job to run', () => runs >= 2);
    expect(lines.filter(({ message }) => message === 'queue connection failed').length).toBeLessThan(8);
    await Promise.all([worker.close(), queue.close()]);
    await second.stop();
    await rm(home, { recursive: true, force: true });
  });
});

describe('a connection that is terminated while in use', () => {
  it('does not end the process, and jobs are accepted once Postgres recovers', async () => {
    const database = await createEmptyDatabase();
    const [locker, operator] = [0, 1].map(() => new pg.Client({ connectionString: database.url })) as [
      pg.Client,
      pg.Client,
    ];
    await Promise.all([locker.connect(), operator.connect()]);
    const options = { databaseUrl: database.url, log: memoryLog().log };
    const first = connectQueue(options);
    await first.send('settle-writes', {});
    await locker.query('BEGIN');
    await locker.query('LOCK TABLE bullmq.migration IN ACCESS EXCLUSIVE MODE');

    const second = connectQueue(options);
    const nudged = second.nudge('settle-writes', {});
    await waitFor('a connection to be ended in the middle of a transaction', async () => {
      const { rowCount } = await operator.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'corral-queue' AND wait_event_type = 'Lock'`,
      );
      return rowCount;
    });
    await locker.query('COMMIT');
    await nudged;

    await waitFor('a job to be taken', () => second.send('settle-writes', {}).then(() => true));
    await Promise.all([first.close(), second.close(), locker.end(), operator.end()]);
    await database.drop();
  });
});

describe('a listening connection that is lost', () => {
  it('is replaced, and a job that was added meanwhile is found', async () => {
    const database = await createEmptyDatabase();
    const operator = new pg.Client({ connectionString: database.url });
    await operator.connect();
    const options = { databaseUrl: database.url, log: memoryLog().log };
    const queue = connectQueue(options);
    let runs = 0;
    const worker = startWorker({ ...options, queues: someQueues({ 'settle-writes': async () => (runs += 1) }) });
    await worker.ready;
    await queue.send('settle-writes', {});
    await waitFor('the first job', () => runs === 1);

    await operator.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'LISTEN%'`,
    );
    await waitFor('a job to be taken', () => queue.send('settle-writes', {}).then(() => true));

    await waitFor('the job', () => runs >= 2);
    await Promise.all([worker.close(), queue.close(), operator.end()]);
    await database.drop();
  });
});
