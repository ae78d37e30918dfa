export type { BackendOptions } from './backend.js';
export { connectQueue, type Queue, type QueueOptions, QueueUnavailable, type SendOptions } from './connect-queue.js';
export type { JobName, JobPayloads } from './jobs.js';
export {
  type JobContext,
  type JobHandlers,
  type StartedWorker,
  startWorker,
  type WorkerOptions,
} from './start-worker.js';
