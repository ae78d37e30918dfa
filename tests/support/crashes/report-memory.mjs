/**
 * Loaded before a program (`node --import`). On SIGUSR2, it collects its garbage and writes a line with what it holds.
 */
import { Session } from 'node:inspector/promises';

const inspector = new Session();
inspector.connect();

process.on('SIGUSR2', async () => {
  await inspector.post('HeapProfiler.collectGarbage');
  const { rss, heapUsed } = process.memoryUsage();
  process.stderr.write(`\n${JSON.stringify({ holds: { rss, heapUsed } })}\n`);
});
