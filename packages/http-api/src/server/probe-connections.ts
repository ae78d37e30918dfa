import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Metrics } from '@corral/service';

const PROBE_MS = 1_000;

/**
 * Measures how long new connections wait for the process: once a second it opens one itself, says nothing, and waits until the server
 * has accepted and closed it. A request is logged and timed only from its first byte, so nothing else shows this wait.
 *
 * @param servers those that listen
 * @returns a function that stops it
 */
export function probeConnections(servers: readonly Server[], metrics: Pick<Metrics, 'histogram'>): () => void {
  const seconds = metrics.histogram({
    name: 'corral_connection_wait_seconds',
    help: 'Time until a new connection was accepted and closed, of one that the process opens to itself every second',
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  const stops = servers.map((server) => probe(server, (waited) => seconds.observe(waited)));
  return () => {
    for (const stop of stops) stop();
  };
}

function probe(server: Server, observe: (seconds: number) => void): () => void {
  const { address, port } = server.address() as AddressInfo;
  const host = { '::': '::1', '0.0.0.0': '127.0.0.1' }[address] ?? address;
  let isWaiting = false;
  const timer = setInterval(() => {
    if (isWaiting) return;
    isWaiting = true;
    const startedAt = performance.now();
    connect({ host, port })
      // A server beyond its maximum of connections may reset it.
      .on('error', () => undefined)
      .once('close', () => {
        isWaiting = false;
        observe((performance.now() - startedAt) / 1_000);
      })
      .resume()
      .end();
  }, PROBE_MS);
  timer.unref();
  return () => clearInterval(timer);
}
