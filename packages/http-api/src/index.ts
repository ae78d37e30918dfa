export { type AdmitRequestsOptions, admitRequests, narrowScopeOf, scopeOf } from './admit-requests.js';
export {
  type ApiError,
  ClientGone,
  type ErrorShape,
  errorHandler,
  queryOf,
  RequestFault,
  type RequestFaultKind,
  sendJsonText,
  unknownPath,
} from './errors.js';
export { type HandlersOf, mountRoutes, page } from './mount-routes.js';
export { docsRouter } from './pages/docs-router.js';
export { healthRoutes } from './pages/health-routes.js';
export { securityTxt } from './pages/security-txt.js';
export { staticPage } from './pages/static-page.js';
export { bytesOf, findJsonFault, type IsRespelled, jsonObjectOf, UnreadableBody } from './requests/json-body.js';
export { clientErrorRenderer } from './server/client-error.js';
export { buildMetricsApp, type Served, serve } from './server/serve.js';
export {
  clientVariables,
  contactVariables,
  drainVariables,
  tlsOptions,
  tlsVariables,
} from './server/server-variables.js';
export { startService } from './server/start-service.js';
export { allowOrigins, serviceApp } from './service-app.js';
