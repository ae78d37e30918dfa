export {
  ADDRESSES_PER_SITE,
  type AddressLimit,
  type AddressLimiter,
  addressLimiter,
  addressOf,
  peerOf,
} from './address-limiter.js';
export { type Buckets, memoryBuckets, partOf } from './buckets.js';
export {
  addBudget,
  type Budget,
  type ChargedBudget,
  reportedBudget,
  setBudget,
} from './budget-headers.js';
export { type CallerLimit, callerLimiter } from './caller-limiter.js';
export { type ConnectBucketsOptions, connectBuckets } from './connect-buckets.js';
export { type PatientLimiterOptions, patientLimiter } from './patient-limiter.js';
export { type RequestLimit, type RequestLimiter, requestLimiter } from './request-limiter.js';
export type { BucketRule, Taken } from './token-bucket.js';
export {
  type Clock,
  type KeyedSemaphore,
  keyedSemaphore,
  systemClock,
  type WaitingLines,
  waitingLines,
} from './waiting-lines.js';
