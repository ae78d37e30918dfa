import { createServer } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';
import { createHealth, createMetrics, type Metrics, serve, silentLog } from '@corral/service';
import { type AppDeps, buildApp } from '../../src/build-app.js';
import { type EventConfig, eventDefaults } from '../../src/build-event-handlers.js';
import { listenToTeamEvents } from '../../src/live/event-news.js';
import type { TestClusterApi } from './start-cluster-api.js';

/** One more process of the service, on the database of the test. */
export interface Replica {
  readonly url: string;
  /** A connection that holds no more than a few kilobytes, whatever this machine's sockets hold. */
  connectInMemory(): Duplex;
  readonly metrics: Metrics;
  /** As on SIGTERM. Safe to repeat. */
  close(): Promise<void>;
}

export interface ReplicaOptions extends Partial<EventConfig> {
  /** Default: that of the test. */
  readonly databaseUrl?: string;
  readonly deps?: Partial<AppDeps>;
}

export async function startReplica(
  { deps, ...test }: TestClusterApi,
  { databaseUrl = test.databaseUrl, deps: others, ...events }: ReplicaOptions = {},
): Promise<Replica> {
  const news = listenToTeamEvents({ databaseUrl, applicationName: 'replica', onError: () => undefined });
  const [metrics, health] = [createMetrics({ service: 'test' }), createHealth({ checks: {}, log: silentLog })];
  const config = { ...deps.config, events: { ...eventDefaults, ...events } };
  const app = buildApp({ ...deps, ...others, config, metrics, health, eventNews: news.subscribe });
  const served = await serve({
    app,
    host: '127.0.0.1',
    port: 0,
    metrics,
    health,
    log: silentLog,
    shutdownGraceMs: 10_000,
  });
  return {
    ...{ url: served.url, metrics },
    connectInMemory() {
      const [ours, theirs] = duplexPair();
      createServer(app).emit('connection', theirs);
      theirs.once('close', () => ours.destroy()); // of such a pair, neither tells the other that it was cut
      return ours;
    },
    close: () => served.close().then(news.close),
  };
}
