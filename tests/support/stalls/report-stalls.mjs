import { monitorEventLoopDelay } from 'node:perf_hooks';

/**
 * Loaded before a program (`node --import`). On SIGUSR2, it writes a line with the longest stall of the event loop since the
 * last line.
 */
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
process.on('SIGUSR2', () => {
  process.stderr.write(`\n${JSON.stringify({ stalledMs: delay.max / 1e6 })}\n`);
  delay.reset();
});
