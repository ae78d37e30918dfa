import { createEmptyDatabase, waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { connectQueue, type Queue } from '../src/connect-queue.js';
import { prepareQueue } from '../src/postgres/prepare-queue.js';
import { type StartedWorker, startWorker } from '../src/start-worker.js';
import { memoryLog, someQueues } from './backends.js';

describe('the queue on Postgres', () => {
  let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
  let client: pg.Client;
  let queue: Queue;
  let worker: StartedWorker;
  let settled = 0;
  let sweeps = 0;
  beforeAll(async () => {
    database = await createEmptyDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const options = { databaseUrl: database.url, log: memoryLog().log };
    queue = connectQueue(options);
    const handlers = { 'settle-writes': async () => (settled += 1), 'sweep-clusters': async () => (sweeps += 1) };
    worker = startWorker({ ...options, queues: someQueues(handlers), closeMs: 500 });
    await worker.ready;
    // Whoever sends first prepares the queue once more, which would end the events of a test.
    await sendAndWait();
  });
  afterAll(async () => {
    await Promise.all([worker.close(), queue.close()]);
    await client.end();
    await database.drop();
  });
  const count = async (of: string): Promise<number> =>
    (await client.query(`SELECT count(*)::int AS n FROM ${of}`)).rows[0].n;
  async function sendAndWait(): Promise<void> {
    const before = settled;
    await queue.send('settle-writes', {});
    await waitFor('the job', () => settled === before + 1);
  }
  const isOurs = `datname = current_database() AND application_name = 'corral-queue'`;

  it('uses five connections for all queues of a process, for sending and working', async () => {
    const all = { settled: settled + 30, sweeps: sweeps + 30 };
    for (let sent = 0; sent < 30; sent += 1) {
      await Promise.all([queue.send('settle-writes', {}), queue.send('sweep-clusters', {})]);
    }
    await waitFor('all jobs', () => settled === all.settled && sweeps === all.sweeps);

    expect(await count(`pg_stat_activity WHERE ${isOurs}`)).toBeLessThanOrEqual(5);
  });

  it('writes no events, also when a migration has brought them back', async () => {
    await client.query(`CREATE OR REPLACE FUNCTION bullmq.publish_event(p_queue text, p_event text, p_data jsonb) RETURNS bigint
      LANGUAGE sql AS $$
        INSERT INTO bullmq.event (queue, event, data, created_at_ms) VALUES (p_queue, p_event, p_data, 0) RETURNING id
      $$`);
    await sendAndWait();
    expect(await count('bullmq.event')).toBeGreaterThan(0);

    await Promise.all([1, 2, 3].map(() => prepareQueue({ databaseUrl: database.url })));

    expect(await count('bullmq.event')).toBe(0);
    await sendAndWait();
    expect(await count('bullmq.event')).toBe(0);
  });

  it('finds a job that was added while the listening connection was away', async () => {
    await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${isOurs} AND query LIKE 'LISTEN%'`,
    );

    await sendAndWait();
  });
});
