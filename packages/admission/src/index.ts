export { addBudget, type Budget, type ChargedBudget, reportedBudget, setBudget } from './buckets/budget-headers.js';
export { type CallerLimit, callerLimiter, type Patience } from './buckets/caller-limiter.js';
export { type ConnectBucketsOptions, connectBuckets } from './buckets/redis-buckets.js';
export {
  ADDRESSES_PER_SITE,
  type AddressLimit,
  type AddressLimiter,
  addressLimiter,
  addressOf,
  peerOf,
  type RequestLimit,
  type RequestLimiter,
  requestLimiter,
  siteOf,
} from './buckets/refusing-limits.js';
export {
  type BucketRule,
  type Buckets,
  memoryBuckets,
  perMinute,
  type RuledBucket,
  secondsOf,
  type Taken,
} from './buckets/token-bucket.js';
export { type CallClass, flowOf } from './budget/account.js';
export { type BudgetStore, connectBudgetStore, type RunStatement } from './budget/budget-store.js';
export {
  type BudgetReading,
  type FlowReading,
  type KeptReading,
  type TurnTaken,
  upstreamBudgetMetrics,
} from './budget/readings.js';
export {
  type CallEnd,
  parseStatement,
  type RateLimitHeaders,
  retryAfterMs,
  type Turn,
} from './budget/statements.js';
export type { UsedUp } from './budget/turns.js';
export { type BudgetOptions, openBudget, type Turned, type UpstreamBudget } from './budget/upstream-budget.js';
export { type Clock, systemClock } from './clock.js';
export { type FairQueue, type FairQueueOptions, fairQueue } from './fair-queue.js';
export { type Gate, type GateEffect, type GateOptions, type GateReport, type GateState, gate } from './gate.js';
export { NotAdmitted } from './not-admitted.js';
export { type Places, places } from './places.js';
export {
  extendScope,
  narrowScope,
  openScope,
  outside,
  type Place,
  type RequestScope,
  type ScopeOptions,
  waiting,
} from './request-scope.js';
