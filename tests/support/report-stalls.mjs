import { monitorEventLoopDelay } from 'node:perf_hooks';

/**
 * Loaded before a program (`node --import`): upon SIGUSR2 it writes a line about the longest time that its event loop stood
 * still since the last one.
 */
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
process.on('SIGUSR2', () => {
  process.stderr.write(`\n${JSON.stringify({ stalledMs: delay.max / 1e6 })}\n`);
  delay.reset();
});
