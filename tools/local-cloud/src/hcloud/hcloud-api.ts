import { randomBytes } from 'node:crypto';
import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express';
import type { Cloud } from '../cloud.js';
import { serverActionBody, serverRoutes } from '../compute/server-routes.js';
import { zoneActionBody, zoneRoutes } from '../dns/zone-routes.js';
import { injectFaults } from '../faults/calls.js';
import { openRouteTable, type Route, sendJson } from '../http/route-table.js';
import { ApiError, errorBody, notFound } from './answers.js';
import { Budget } from './budget.js';
import { placementGroupRoutes } from './placement-groups.js';
import { pricingBody } from './prices.js';

const BODY_BYTES_MAX = 4 * 1024 * 1024;

/** The Hetzner Cloud API. Every request is counted, then checked against budget, faults and token in this order. */
export function buildHcloudApi(cloud: Cloud): Express {
  const { zones, servers, clock, calls, projectTokens } = cloud;
  const projectOf = (req: Request): string => projectTokens.projectOf(tokenOf(req) ?? '');
  const routeOf = openRouteTable({
    ...zoneRoutes(cloud),
    ...serverRoutes(cloud, projectOf),
    ...placementGroupRoutes(clock, projectOf),
    'GET /v1/pricing': () => ({ pricing: pricingBody() }),
    'GET /v1/actions/:action': ({ req, param }) => {
      const id = Number(param('action'));
      const ofServer = servers.findAction(projectOf(req), id);
      if (ofServer !== null) return { action: serverActionBody(ofServer, clock.now()) };
      const ofZone = isOfZones(cloud, req) ? zones.findAction(id) : null;
      if (ofZone === null) throw notFound('action');
      return { action: zoneActionBody(ofZone, clock.now(), cloud.extraFields) };
    },
  });
  const app = express();
  app.disable('x-powered-by');
  app.use((req, res, next) => {
    const route = routeOf(req.path);
    res.locals.route = route;
    calls.count(req, route?.pattern ?? 'unknown');
    next();
  });
  app.use(spendBudget(cloud));
  app.use(injectFaults(calls, renderFault, 'hcloud'));
  app.use(requireToken(cloud));
  app.use(express.raw({ type: () => true, limit: BODY_BYTES_MAX }));
  app.use((req, res) => {
    const route = res.locals.route as Route | null;
    if (route === null) throw new ApiError(404, 'not_found', 'path not found');
    if (!route.methods.includes(req.method)) throw new ApiError(405, 'method_not_allowed', 'method not allowed');
    route.serve(req, res);
  });
  app.use(sendError);
  return app;
}

/** Each project has a separate budget. A request without a valid token uses that of the zones' project. */
function spendBudget({ budget: ownBudget, tokens, projectTokens, clock }: Cloud): RequestHandler {
  const budgets = new Map<string, Budget>(tokens.map((token) => [token, ownBudget]));
  const budgetOf = (token: string): Budget => {
    const known = budgets.get(token) ?? (projectTokens.stateOf(token) === 'unknown' ? ownBudget : null);
    if (known !== null) return known;
    const budget = new Budget(ownBudget.state(clock.now()).limit, clock.now());
    budgets.set(token, budget);
    return budget;
  };
  return (req, res, next) => {
    const budget = budgetOf(tokenOf(req) ?? '');
    const granted = budget.take(clock.now());
    const { limit, remaining, resetsAt } = budget.state(clock.now());
    res.set({
      // The simulated clock, which tests can advance.
      Date: new Date(clock.now()).toUTCString(),
      'X-Correlation-Id': randomBytes(8).toString('hex'),
      'RateLimit-Limit': String(limit),
      'RateLimit-Remaining': String(remaining),
      'RateLimit-Reset': String(resetsAt),
    });
    if (!granted) throw new ApiError(429, 'rate_limit_exceeded', `limit of ${limit} requests per hour reached`);
    next();
  };
}

const tokenOf = (req: Request): string | undefined => /^Bearer +(\S+)$/i.exec(req.get('Authorization') ?? '')?.[1];

const isOfZones = ({ tokens }: Cloud, req: Request): boolean => tokens.includes(tokenOf(req) ?? '');

/** A token gives access to its own project only. Other projects have no zones. */
function requireToken(cloud: Cloud): RequestHandler {
  return (req, _res, next) => {
    const token = tokenOf(req);
    if (token === undefined) throw new ApiError(401, 'unauthorized', 'token is required');
    const state = cloud.projectTokens.stateOf(token);
    if (state === 'unknown') throw new ApiError(401, 'unauthorized', 'the token you have provided is invalid');
    if (state === 'read-only' && req.method !== 'GET') {
      throw new ApiError(401, 'token_readonly', 'token is only allowed to perform GET requests');
    }
    if (req.path.startsWith('/v1/zones') && !isOfZones(cloud, req)) throw notFound('zone');
    next();
  };
}

const sendError: ErrorRequestHandler = (error, _req, res, _next) => {
  const { status, code, message, details } = error instanceof ApiError ? error : refusalOf(error);
  sendJson(res, status, errorBody(code, message, details));
};

/** A path that cannot be decoded, a body that is too large, or a mistake of ours. */
function refusalOf(error: { status?: number; message?: string }): ApiError {
  if (error.status === 413) return new ApiError(413, 'payload_too_large', 'the body is too large');
  if (error instanceof URIError) return new ApiError(400, 'json_error', 'the request cannot be read');
  return new ApiError(500, 'server_error', String(error.message));
}

const usualCodes: Readonly<Record<number, string>> = {
  400: 'json_error',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'conflict',
  422: 'invalid_input',
  423: 'locked',
  429: 'rate_limit_exceeded',
  500: 'server_error',
  502: 'bad_gateway',
  503: 'unavailable',
  504: 'timeout',
};

const renderFault = (status: number, code: string | undefined, message: string) =>
  errorBody(code ?? usualCodes[status] ?? 'unknown_error', message);
