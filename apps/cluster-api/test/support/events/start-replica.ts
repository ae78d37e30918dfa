import { serve } from '@corral/http-api';
import { createHealth, createMetrics, type Metrics, silentLog } from '@corral/service';
import { type EventConfig, eventDefaults } from '../../../src/app-config.js';
import { type AppDeps, buildApp } from '../../../src/build-app.js';
import { listenToTeamEvents } from '../../../src/events/store.js';
import type { TestClusterApi } from '../start-cluster-api.js';

/** A further replica of the service on the test's database. */
export interface Replica {
  readonly url: string;
  readonly metrics: Metrics;
  /** Shuts down as on SIGTERM. Safe to repeat. */
  close(): Promise<void>;
}

export interface ReplicaOptions extends Partial<EventConfig> {
  /** Default: the test's database. */
  readonly databaseUrl?: string;
  readonly deps?: Partial<AppDeps>;
}

export async function startReplica(
  { deps, ...test }: TestClusterApi,
  { databaseUrl = test.databaseUrl, deps: others, ...events }: ReplicaOptions = {},
): Promise<Replica> {
  const notifications = listenToTeamEvents({ databaseUrl, applicationName: 'replica', onError: () => undefined });
  const [metrics, health] = [createMetrics({ service: 'test' }), createHealth({ checks: {}, log: silentLog })];
  const config = { ...deps.config, events: { ...eventDefaults, ...events } };
  const app = buildApp({ ...deps, ...others, config, metrics, health, eventNotifications: notifications.subscribe });
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
    url: served.url,
    metrics,
    close: () => served.close().then(notifications.close),
  };
}
