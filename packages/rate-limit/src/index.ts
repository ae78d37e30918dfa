export { type Buckets, memoryBuckets } from './buckets.js';
export { connectBuckets } from './connect-buckets.js';
export { addressOf, type RequestLimit, requestLimiter } from './request-limiter.js';
export type { BucketRule, Taken } from './token-bucket.js';
