export { type AdmitRequestsOptions, admitRequests, narrowScopeOf, scopeOf } from './admit-requests.js';
export {
  type ApiError,
  ClientGone,
  clientErrorRenderer,
  type ErrorShape,
  errorHandler,
  queryOf,
  RequestFault,
  type RequestFaultKind,
  sendJsonText,
  unknownPath,
} from './errors.js';
export { type HandlersOf, mountRoutes, page } from './mount-routes.js';
export { docsRouter, healthRoutes, securityTxt, staticPage } from './pages.js';
export { bytesOf, findJsonFault, type IsRespelled, jsonObjectOf } from './requests/json-body.js';
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
