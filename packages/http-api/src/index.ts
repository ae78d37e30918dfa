export {
  type AdmitRequestsOptions,
  admitRequests,
  narrowScopeOf,
  type RequestAdmission,
  scopeOf,
} from './admit-requests.js';
export {
  type ApiError,
  type BodyFault,
  ClientGone,
  type ErrorShape,
  errorHandler,
  queryOf,
  RequestFault,
  type RequestFaultKind,
  sendJsonText,
  unknownPath,
} from './errors.js';
export { type HandlersOf, type MountOptions, mountRoutes, page, type RouteRow } from './mount-routes.js';
export { type DocsOptions, docsRouter } from './pages/docs-router.js';
export { type HealthRoutesOptions, healthRoutes } from './pages/health-routes.js';
export { type StaticPage, staticPage } from './pages/static-page.js';
export {
  type BodyBounds,
  bytesOf,
  findJsonFault,
  type IsRespelled,
  type JsonBodyOptions,
  type JsonBounds,
  type JsonFault,
  jsonObjectOf,
  UnreadableBody,
} from './requests/json-body.js';
export { clientErrorRenderer } from './server/client-error.js';
export type { ClientErrorRenderer, ConnectionBounds, HttpTimeouts } from './server/http-server.js';
export { buildMetricsApp, type Served, type ServeOptions, serve } from './server/serve.js';
export {
  clientVariables,
  drainVariables,
  type ServerConfig,
  serverOptionsOf,
  tlsOptions,
  tlsVariables,
} from './server/server-variables.js';
export {
  type ServiceBase,
  type ServiceConfig,
  type ServiceOptions,
  type ServiceParts,
  startService,
} from './server/start-service.js';
export type { TlsFiles, TlsOptions } from './server/tls-server.js';
export { allowOrigins, type CrossOriginOptions, type ServiceAppOptions, serviceApp } from './service-app.js';
