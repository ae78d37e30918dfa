import {
  Counter,
  type CounterConfiguration,
  collectDefaultMetrics,
  Gauge,
  type GaugeConfiguration,
  Histogram,
  type HistogramConfiguration,
  Registry,
} from 'prom-client';
import { corralVersion } from './corral-version.js';

type Made<T> = Omit<T, 'registers'>;

/** The metrics of one process. Labels have few values, such as route patterns, outcomes or codes, and never a team or an id. */
export interface Metrics {
  readonly registry: Registry;
  readonly httpRequestSeconds: Histogram<'route' | 'method' | 'status'>;
  /** @param config `name` is `corral_<noun>_total` */
  counter<L extends string = never>(config: Made<CounterConfiguration<L>>): Counter<L>;
  /** @param config `name` is `corral_<noun>_<unit>` */
  gauge<L extends string = never>(config: Made<GaugeConfiguration<L>>): Gauge<L>;
  /** @param config `name` is `corral_<noun>_seconds` or another unit */
  histogram<L extends string = never>(config: Made<HistogramConfiguration<L>>): Histogram<L>;
}

const namePattern = /^corral_[a-z][a-z0-9]*(_[a-z0-9]+)+$/;

function checkedName(name: string, end = ''): string {
  if (!namePattern.test(name) || !name.endsWith(end)) {
    throw new Error(`Metric ${name}: name it corral_<noun>_<unit>, and a counter corral_<noun>_total.`);
  }
  return name;
}

/** How often the delay of the event loop is measured. The metrics of it contain this time. */
const EVENT_LOOP_MS = 50;

/** Creates a registry with the process metrics of Node.js and the duration of HTTP requests. */
export function createMetrics({ service }: { service: string }): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  // The default of 10 ms wakes a process a hundred times per second, which alone takes 0.4 % of a core.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_MS });
  const registers = [registry];
  const metrics = {
    registry,
    counter: <L extends string = never>(config: Made<CounterConfiguration<L>>) =>
      new Counter<L>({ ...config, name: checkedName(config.name, '_total'), registers }),
    gauge: <L extends string = never>(config: Made<GaugeConfiguration<L>>) =>
      new Gauge<L>({ ...config, name: checkedName(config.name), registers }),
    histogram: <L extends string = never>(config: Made<HistogramConfiguration<L>>) =>
      new Histogram<L>({ ...config, name: checkedName(config.name), registers }),
  };
  const httpRequestSeconds = metrics.histogram({
    name: 'corral_http_request_duration_seconds',
    help: 'Time from the first byte of a request to the end of its answer',
    labelNames: ['route', 'method', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  });
  const made = { ...metrics, httpRequestSeconds };
  buildInfoMetric(made);
  return made;
}

/** The version of the running program: always 1. */
function buildInfoMetric(metrics: Metrics): void {
  metrics
    .gauge({
      name: 'corral_build_info',
      help: 'Always 1; the labels are the version, the commit of the build if known, and the version of Node.js',
      labelNames: ['version', 'commit', 'node'],
    })
    .set(
      {
        version: corralVersion,
        // The image sets it.
        commit: process.env.CORRAL_COMMIT ?? '',
        node: process.version,
      },
      1,
    );
}

/** What a pool of `pg` reports about itself. */
export interface PoolCounts {
  /** Open connections. */
  readonly totalCount: number;
  readonly idleCount: number;
  /** Callers that wait for a connection. */
  readonly waitingCount: number;
  readonly options: { readonly max: number };
}

/** The use of connection pools, by the purpose of the pool. */
export function poolMetrics(metrics: Metrics, pools: { readonly [purpose: string]: PoolCounts }): void {
  metrics.gauge({
    name: 'corral_database_connections',
    help: 'Connections to Postgres: used, idle, or free to be opened. The sum is the maximum',
    labelNames: ['pool', 'state'],
    collect() {
      for (const [pool, { totalCount, idleCount, options }] of Object.entries(pools)) {
        this.set({ pool, state: 'used' }, totalCount - idleCount);
        this.set({ pool, state: 'idle' }, idleCount);
        this.set({ pool, state: 'free' }, Math.max(0, options.max - totalCount));
      }
    },
  });
  metrics.gauge({
    name: 'corral_database_waiting',
    help: 'Callers that wait for a connection to Postgres',
    labelNames: ['pool'],
    collect() {
      for (const [pool, { waitingCount }] of Object.entries(pools)) this.set({ pool }, waitingCount);
    },
  });
}
