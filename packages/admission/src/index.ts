export { type Buckets, connectBuckets, memoryBuckets, perMinute, secondsOf, type Taken } from './buckets/buckets.js';
export {
  addBudget,
  type ChargedBudget,
  callerLimiter,
  type RequestLimiter,
  reportedBudget,
  setBudget,
} from './buckets/caller-limiter.js';
export {
  type AddressLimiter,
  addressLimiter,
  addressOf,
  peerOf,
  requestLimiter,
  siteOf,
} from './buckets/refusing-limits.js';
export { type CallClass, flowOf } from './budget/account.js';
export { type BudgetStore, readBudgets, sharedStore } from './budget/budget-store.js';
export {
  type BudgetReading,
  type FlowReading,
  type KeptReading,
  type TurnTaken,
  upstreamBudgetMetrics,
} from './budget/readings.js';
export { type CallEnd, parseStatement, retryAfterMs, type Turn } from './budget/statements.js';
export { type Lack, openBudget, type Turned, type UpstreamBudget } from './budget/upstream-budget.js';
export { type FairQueue, fairQueue } from './fair-queue.js';
export { type Gate, type GateOptions, gate } from './gate.js';
export {
  type Clock,
  extendScope,
  NotAdmitted,
  narrowScope,
  openScope,
  outside,
  type Places,
  places,
  type RequestScope,
  type ScopeOptions,
  systemClock,
  waiting,
} from './request-scope.js';
