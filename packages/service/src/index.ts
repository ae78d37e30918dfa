export {
  type AgentOptions,
  type Answered,
  type AnswerHeaders,
  type Bounds,
  type Broken,
  codeOf,
  collect,
  type Endpoint,
  endOf,
  exchange,
  mayHaveArrived,
  type Opened,
  type Outgoing,
  openAgent,
  openExchange,
  parseJsonObject,
  readJsonObject,
  type TlsMaterial,
} from './calls.js';
export {
  type Config,
  ConfigError,
  type ConfigProblem,
  type ConfigRow,
  configTable,
  describeConfig,
  readConfig,
  withPasswords,
} from './config.js';
export {
  durationMs,
  flag,
  integer,
  list,
  type OptionalVariable,
  oneOf,
  origins,
  portOrFree,
  type RequiredVariable,
  refuseValue,
  secret,
  share,
  type TrustProxy,
  text,
  trustProxy,
  url,
  type Variable,
  type VariableMeta,
  type Variables,
  variable,
  wordsOf,
} from './config-variables.js';
export { createHealth, type Health, type HealthCheck, type HealthOptions, type Readiness } from './health.js';
export {
  createLog,
  type Log,
  type LogFields,
  type LogLevel,
  type LogOptions,
  logLevels,
  type RootLog,
  redactText,
  silentLog,
} from './log.js';
export type { TraceSampler, TracingOptions } from './make-tracing.js';
export { createMetrics, type Metrics } from './metrics.js';
export { type PoolCounts, poolMetrics } from './pool-metrics.js';
export {
  consoleVariables,
  gardenVariables,
  installationVariables,
  tracingOptionsOf,
  tracingVariables,
  upstreamVariables,
} from './shared-variables.js';
export { onShutdown, type ShutdownOptions, type ShutdownStep } from './shutdown.js';
export { EXIT_CONFIG, startOrExit } from './start-or-exit.js';
export {
  currentTraceId,
  currentTraceparent,
  inSpan,
  isTracing,
  type OpenSpan,
  openSpan,
  parseTraceparent,
  type SpanAttributes,
  type SpanOptions,
  startTracing,
  type Traceparent,
} from './traces.js';
export {
  answerWithin,
  aroundMs,
  type BackoffRange,
  backoffMs,
  equalJitterMs,
  fullJitterMs,
  orAborted,
  orLate,
  sleep,
  spreadMs,
} from './waits.js';
