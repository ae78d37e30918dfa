import type { Metrics } from './metrics.js';

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
    name: 'corral_database_connections_count',
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
    name: 'corral_database_waiting_count',
    help: 'Callers that wait for a connection to Postgres',
    labelNames: ['pool'],
    collect() {
      for (const [pool, { waitingCount }] of Object.entries(pools)) this.set({ pool }, waitingCount);
    },
  });
}
