export type { BackendOptions } from './backend.js';
export { connectQueue, type Queue, type QueueOptions, QueueUnavailable, type SendOptions } from './connect-queue.js';
export type { JobName, JobPayloads, QueueName } from './jobs.js';
export { prepareQueue } from './postgres/prepare-queue.js';
export { queueSchema } from './postgres/shared-connection.js';
export {
  type JobContext,
  type JobHandlers,
  type ServedQueue,
  type StartedWorker,
  startWorker,
  type WorkerOptions,
} from './start-worker.js';
