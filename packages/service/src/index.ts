export { type CallGuard, callGuard, type GuardedCall, guardedHosts } from './call-guard.js';
export {
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
export { type Config, ConfigError, type ConfigProblem, configTable, readConfig, withPasswords } from './config.js';
export {
  durationMs,
  flag,
  type HostAndPort,
  hostsAndPorts,
  integer,
  list,
  type OptionalVariable,
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
  type Variables,
  variable,
  wordsOf,
} from './config-variables.js';
export { corralVersion } from './corral-version.js';
export { adviceOnDistrust } from './distrust.js';
export { createHealth, type Health, type HealthCheck } from './health.js';
export { createLog, type Log, type LogFields, type LogLevel, type RootLog, redactText, silentLog } from './log.js';
export { createMetrics, type Metrics, poolMetrics } from './metrics.js';
export {
  consoleVariables,
  gardenVariables,
  installationVariables,
  tracingOptionsOf,
  tracingVariables,
  upstreamVariables,
  webhookGuardOptions,
  webhookVariables,
} from './shared-variables.js';
export { onShutdown, type ShutdownStep } from './shutdown.js';
export { startOrExit } from './start-or-exit.js';
export {
  currentTraceparent,
  inSpan,
  isTracing,
  type OpenSpan,
  openSpan,
  parseTraceparent,
  startTracing,
} from './traces.js';
export {
  answerWithin,
  aroundMs,
  backoffMs,
  equalJitterMs,
  fullJitterMs,
  orAborted,
  orLate,
  sleep,
  spreadMs,
} from './waits.js';
