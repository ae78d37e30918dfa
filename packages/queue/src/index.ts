export type { BackendOptions } from './backend.js';
export { connectQueue, type Queue, QueueUnavailable, type RecurringJob } from './connect-queue.js';
export { type Intervals, intervalOf, type JobName, jobs, type QueueName } from './jobs.js';
export { queueSchema } from './postgres-pool.js';
export { isQueuePrepared, prepareQueue } from './prepare-queue.js';
export {
  type JobContext,
  type JobHandlers,
  type StartedWorker,
  startWorker,
  type WorkerOptions,
} from './start-worker.js';
