/**
 * Loaded before a program (`node --expose-gc --import`). On SIGUSR2, it collects its garbage and writes a line with what it
 * holds.
 */
process.on('SIGUSR2', () => {
  globalThis.gc();
  setImmediate(() => {
    globalThis.gc();
    const { rss, heapUsed } = process.memoryUsage();
    const sockets = process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length;
    process.stderr.write(`\n${JSON.stringify({ holds: { rss, heapUsed, sockets } })}\n`);
  });
});
