import type { Pool, Prisma } from '@corral/database';
import type { Queue } from '@corral/queue';
import type { Log, Metrics } from '@corral/service';

/** What every part of the process works with. */
export interface Services {
  readonly pool: Pool;
  /** The client on the connections of `pool`. */
  readonly prisma: Prisma;
  readonly queue: Queue;
  readonly metrics: Metrics;
  readonly log: Log;
}
