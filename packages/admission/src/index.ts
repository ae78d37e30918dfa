export {
  addBudget,
  type Budget,
  type CallerLimit,
  type ChargedBudget,
  callerLimiter,
  type Patience,
  type RequestLimiter,
  reportedBudget,
  setBudget,
} from './buckets/caller-limiter.js';
export { type ConnectBucketsOptions, connectBuckets } from './buckets/redis-buckets.js';
export {
  ADDRESSES_PER_SITE,
  type AddressLimit,
  type AddressLimiter,
  addressLimiter,
  addressOf,
  peerOf,
  type RequestLimit,
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
export { type BudgetStore, connectBudgetStore, type StatementRunner } from './budget/budget-store.js';
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
export {
  type BudgetOptions,
  type Lack,
  openBudget,
  type Turned,
  type UpstreamBudget,
} from './budget/upstream-budget.js';
export { type FairQueue, type FairQueueOptions, fairQueue } from './fair-queue.js';
export { type Gate, type GateEffect, type GateOptions, type GateReport, type GateState, gate } from './gate.js';
export {
  type Clock,
  extendScope,
  NotAdmitted,
  narrowScope,
  openScope,
  outside,
  type Place,
  type Places,
  places,
  type RequestScope,
  type ScopeOptions,
  systemClock,
  waiting,
} from './request-scope.js';
