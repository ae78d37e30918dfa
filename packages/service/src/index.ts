export { canonicalPath, canonicalUrl } from './canonical-url.js';
export { type ClientErrorOptions, type ClientFailure, clientErrorRenderer } from './client-error.js';
export { ClientGone, clientGone } from './client-gone.js';
export {
  type Config,
  ConfigError,
  type ConfigProblem,
  type ConfigRow,
  configTable,
  describeConfig,
  readConfig,
} from './config.js';
export {
  durationMs,
  flag,
  integer,
  list,
  type OptionalVariable,
  oneOf,
  portOrFree,
  type RequiredVariable,
  refuseValue,
  secret,
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
export { type ConnectionBounds, peerOf } from './connection-bounds.js';
export { type DocsOptions, docsRouter } from './docs-router.js';
export { type FlightBound, type FlightBoundOptions, flightBound, setAside } from './flight-bound.js';
export { createHealth, type Health, type HealthCheck, type HealthOptions, type Readiness } from './health.js';
export type { ClientErrorRenderer, HttpTimeouts } from './http-server.js';
export { type BodyBounds, type BodyFault, bytesOf, parseJsonObject, rawBody, UnreadableBody } from './json-body.js';
export { findJsonFault, type IsRespelled, type JsonBounds, type JsonFault } from './json-text.js';
export {
  createLog,
  type Log,
  type LogFields,
  type LogLevel,
  type LogOptions,
  logLevels,
  type RootLog,
  silentLog,
} from './log.js';
export { createMetrics, type Metrics } from './metrics.js';
export { orAborted } from './or-aborted.js';
export { redactText } from './redact.js';
export { requestId, requestLog } from './request-log.js';
export { buildMetricsApp, type Served, type ServeOptions, serve } from './serve.js';
export { type ServiceAppOptions, serviceApp } from './service-app.js';
export {
  clientBounds,
  clientVariables,
  drainVariables,
  gardenVariables,
  installationVariables,
  tlsOptions,
  tlsVariables,
  upstreamVariables,
} from './shared-variables.js';
export { onShutdown, type ShutdownOptions, type ShutdownStep } from './shutdown.js';
export { sleep } from './sleep.js';
export { EXIT_CONFIG, startOrExit } from './start-or-exit.js';
export { type StaticPage, staticPage } from './static-page.js';
export type { TlsFiles } from './tls-certificate.js';
export type { TlsOptions } from './tls-server.js';
