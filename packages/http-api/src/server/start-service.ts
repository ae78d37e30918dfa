import { type Buckets, connectBuckets } from '@corral/admission';
import { connectPool, databaseCheck, type Pool, registerProcess, startCheck } from '@corral/database';
import {
  type Config,
  createHealth,
  createLog,
  createMetrics,
  type Health,
  type HealthCheck,
  type Log,
  type LogLevel,
  type Metrics,
  onShutdown,
  poolMetrics,
  type ShutdownStep,
  startOrExit,
  startTracing,
  tracingOptionsOf,
  type tracingVariables,
} from '@corral/service';
import type { Express } from 'express';
import { type ApiError, clientErrorRenderer, type ErrorShape } from '../errors.js';
import { serve } from './serve.js';
import { type ServerConfig, serverOptionsOf } from './server-variables.js';

/** The variables that every API has. */
type ServiceConfig = ServerConfig &
  Config<typeof tracingVariables> & {
    readonly LOG_LEVEL: LogLevel;
    readonly DATABASE_URL: string;
    /** The number of connections, at least 2. */
    readonly DATABASE_CONNECTIONS: number;
    readonly REDIS_URL?: string | undefined;
  };

interface ServiceOptions<C extends ServiceConfig> {
  /** The name in logs, metrics and traces, and of the database connections. */
  readonly name: string;
  /** @throws ConfigError */
  readonly readConfig: (env: NodeJS.ProcessEnv) => C;
  /** What the second pool is for, as its metrics and connections are labelled. */
  readonly second: string;
  /** Maximum wait of the second pool for a lock of another process, in ms. Default: the statement timeout. */
  readonly lockTimeoutMs?: number;
  /** Time for closing everything else after the last request has ended, in ms. */
  readonly closeMarginMs: number;
}

/** What a process has before it knows what it serves. */
interface ServiceBase {
  readonly log: Log;
  readonly metrics: Metrics;
  /** Returns a function that logs a failure which the process survives. */
  report(what: string): (error: Error) => void;
  /** The pool for reads, and for single short statements. */
  readonly pool: Pool;
  /** Half of the connections, rounded down, so that a flood of changes leaves connections for reads. */
  readonly secondPool: Pool;
  /** The sizes of the two pools. */
  readonly connections: { readonly reads: number; readonly second: number };
  /** A connection of its own, so that the readiness check does not fail while requests wait for connections. */
  readonly readiness: Pool;
  readonly buckets: Buckets;
  /** The URL of the service on this machine. Known once it listens. */
  listeningUrl(): string | undefined;
}

/** What one service has of its own. */
interface ServiceParts<E extends ApiError> {
  /** Checks of readiness beside that of the database. */
  readonly checks?: Readonly<Record<string, HealthCheck>>;
  readonly buildApp: (health: Health) => Express;
  readonly errors: ErrorShape<E>;
  /** What closes after the server, in this order, and before the database. */
  readonly closing: readonly ShutdownStep[];
}

/**
 * Runs an API as a process: configuration, logs, metrics, traces, database, request limits, health, server, and the end of all of
 * them on SIGTERM. Ends the process with one clear text when it cannot start (`startOrExit`).
 */
export async function startService<C extends ServiceConfig, E extends ApiError>(
  { name, readConfig, second, lockTimeoutMs, closeMarginMs }: ServiceOptions<C>,
  makeParts: (config: C, base: ServiceBase) => ServiceParts<E>,
): Promise<void> {
  await startOrExit(name, async () => {
    const config = readConfig(process.env);
    const log = createLog({ level: config.LOG_LEVEL, service: name });
    const tracing = await startTracing({
      service: name,
      ...tracingOptionsOf(config),
      onError: (message) => log.warn('traces not sent', { reason: message }),
    });
    const metrics = createMetrics({ service: name });
    const report = (what: string) => (error: Error) => log.warn(what, { error });

    const { pool, secondPool, readiness, connections } = connectPools(config, name, second, lockTimeoutMs, report);
    poolMetrics(metrics, { reads: pool, [second]: secondPool });
    const check = databaseCheck({
      pool: readiness,
      databaseUrl: config.DATABASE_URL,
      applicationName: `${name} readiness`,
    });
    await startCheck(check);
    const processes = await registerProcess({
      pool: readiness,
      service: name,
      onError: report('number of processes not renewed'),
    });
    const buckets = connectBuckets({
      redisUrl: config.REDIS_URL,
      processes,
      onError: report('each process grants its part of the request limits'),
      onBack: () => log.info('request limits are shared again'),
    });
    let listening: string | undefined;
    const listeningUrl = () => listening;
    const base = { log, metrics, report, pool, secondPool, connections, readiness, buckets, listeningUrl };
    const start = async () => {
      const { checks, buildApp, errors, closing } = makeParts(config, base);
      const health = createHealth({ checks: { database: check, ...checks }, log, metrics });
      const onClientError = clientErrorRenderer(errors);
      const app = buildApp(health);
      const server = await serve({ app, health, metrics, log, ...serverOptionsOf(config), onClientError });
      return { server, closing };
    };
    // The attempts of a crash loop must not count as live processes, among which the request limits are divided.
    const { server, closing } = await start().catch(async (error: unknown) => {
      await processes.close();
      throw error;
    });
    listening = server.url;
    onShutdown({ log, graceMs: config.DRAIN_DELAY_MS + config.SHUTDOWN_GRACE_MS + closeMarginMs }, [
      { name: 'server', close: server.close },
      ...closing,
      { name: 'request limits', close: buckets.close },
      { name: 'process register', close: processes.close },
      { name: 'database', close: () => Promise.all([pool.end(), secondPool.end(), readiness.end()]) },
      { name: 'traces', close: tracing.close },
    ]);
  });
}

function connectPools(
  { DATABASE_URL: databaseUrl, DATABASE_CONNECTIONS: all }: ServiceConfig,
  name: string,
  second: string,
  lockTimeoutMs: number | undefined,
  report: ServiceBase['report'],
) {
  const connections = { reads: Math.ceil(all / 2), second: Math.floor(all / 2) };
  const onIdleError = report('database connection lost');
  return {
    connections,
    pool: connectPool({ databaseUrl, applicationName: name, connectionsMax: connections.reads, onIdleError }),
    secondPool: connectPool({
      databaseUrl,
      applicationName: `${name} ${second}`,
      connectionsMax: connections.second,
      onIdleError,
      ...(lockTimeoutMs !== undefined && { lockTimeoutMs }),
    }),
    readiness: connectPool({
      databaseUrl,
      applicationName: `${name} readiness`,
      connectionsMax: 1,
      onIdleError: report('database connection of the readiness check lost'),
    }),
  };
}
