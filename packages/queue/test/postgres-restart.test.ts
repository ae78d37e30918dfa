import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres, waitFor } from '@corral/testing';
import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { connectQueue } from '../src/connect-queue.js';
import { startWorker } from '../src/start-worker.js';
import { memoryLog, someHandlers, stopBackends } from './backends.js';

jest.setTimeout(60_000);
afterAll(stopBackends);

describe('a restart of Postgres', () => {
  it('loses no waiting job, and the worker goes on without many words', async () => {
    const home = await mkdtemp(join(tmpdir(), 'corral-queue-restart-'));
    const dataDir = join(home, 'postgres');
    const first = await startPostgres({ dataDir });
    const { log, lines } = memoryLog();
    const options = { databaseUrl: first.url, log };
    const queue = connectQueue(options);
    let runs = 0;
    const handlers = someHandlers({ 'settle-writes': async () => (runs += 1) });
    const worker = startWorker({ ...options, handlers, concurrency: 2, closeMs: 500, lockMs: 1_000 });
    await worker.ready;
    await queue.send('settle-writes', {}, { jobId: 'later', delayMs: 1_000 });

    await first.stop();
    const second = await startPostgres({ dataDir, port: first.port });

    await waitFor('the job from before the restart', () => runs === 1, { timeoutMs: 20_000 });
    await waitFor('a new job to be taken', () => queue.send('settle-writes', {}).then(() => true));
    await waitFor('the new job to run', () => runs >= 2, { timeoutMs: 20_000 });
    expect(lines.filter(({ message }) => message === 'queue connection failed').length).toBeLessThan(8);
    await Promise.all([worker.close(), queue.close()]);
    await second.stop();
    await rm(home, { recursive: true, force: true });
  });
});
