import type { Pool, Prisma } from '@corral/database';
import type { Queue } from '@corral/queue';
import type { Log, Metrics } from '@corral/service';

/** What stores work with. */
export interface Database {
  readonly pool: Pool;
  /** The client on the connections of `pool`. */
  readonly prisma: Prisma;
}

/** What every part of the process works with. */
export interface Services extends Database {
  readonly queue: Queue;
  readonly metrics: Metrics;
  readonly log: Log;
}
