import { randomBytes } from 'node:crypto';
import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express';
import { computeApi } from '../compute/compute-routes.js';
import type { DnsApiDeps } from '../dns/bodies.js';
import { actionRoutes, rrsetRoutes, zoneRoutes } from '../dns/routes.js';
import { countCalls } from '../faults/call-counts.js';
import { injectFaults } from '../faults/fault-middleware.js';
import { ApiError, errorBody, notFound } from './api-error.js';
import { Budget } from './budget.js';
import { placementGroupRoutes } from './placement-groups.js';
import { pricingRoutes } from './prices.js';
import { sendPage } from './query.js';
import { routeOf } from './routes.js';

const BODY_BYTES_MAX = 4 * 1024 * 1024;

/** The Hetzner Cloud API. Every request is counted, then checked against budget, faults and token in this order. */
export function buildDnsApi(deps: DnsApiDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.use(countCalls(deps.calls, ({ path }) => routeOf(path)?.pattern ?? 'unknown'));
  app.use(spendBudget(deps));
  app.use(injectFaults(deps.faults, renderFault, 'hcloud'));
  app.use(requireToken(deps));
  app.use(refuseUnknown);
  app.use(express.raw({ type: () => true, limit: BODY_BYTES_MAX }));
  const opensZones = new Set(deps.tokens);
  app.use(
    '/v1',
    computeApi({
      clock: deps.clock,
      servers: deps.servers,
      nodesIn: deps.nodesIn,
      projectOf: (req) => deps.projectTokens.projectOf(tokenOf(req) ?? ''),
      hasZones: (req) => opensZones.has(tokenOf(req) ?? ''),
    }),
  );
  app.use('/v1', actionRoutes(deps));
  app.use('/v1/zones/:zone/rrsets', rrsetRoutes(deps));
  app.use('/v1/zones', zoneRoutes(deps));
  app.use('/v1/pricing', pricingRoutes());
  app.use(
    '/v1/placement_groups',
    placementGroupRoutes(deps.clock, (req) => tokenOf(req) ?? ''),
  );
  app.use(sendError);
  return app;
}

/** Each project has a separate budget. A request without a valid token uses that of the zones' project. */
function spendBudget({ budget: ownBudget, tokens, projectTokens, clock }: DnsApiDeps): RequestHandler {
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
    if (granted) return next();
    throw new ApiError(429, 'rate_limit_exceeded', `limit of ${limit} requests per hour reached`);
  };
}

const tokenOf = (req: Request): string | undefined => /^Bearer +(\S+)$/i.exec(req.get('Authorization') ?? '')?.[1];

/** A token gives access to its own project only. Other projects have no zones. */
function requireToken({ tokens, projectTokens }: DnsApiDeps): RequestHandler {
  const opensZones = new Set(tokens);
  return (req, res, next) => {
    const token = tokenOf(req);
    if (token === undefined) throw new ApiError(401, 'unauthorized', 'token is required');
    const state = projectTokens.stateOf(token);
    if (state === 'unknown') throw new ApiError(401, 'unauthorized', 'the token you have provided is invalid');
    if (state === 'read-only' && req.method !== 'GET' && req.method !== 'HEAD') {
      throw new ApiError(401, 'token_readonly', 'token is only allowed to perform GET requests');
    }
    if (opensZones.has(token) || ofEveryProject.test(req.path)) return next();
    if (req.path !== '/v1/zones') throw notFound('zone');
    sendPage(res, 'zones', [], (zone) => zone);
  };
}

/** Resources that every project has, shared or separate. */
const ofEveryProject = /^\/v1\/(?:pricing|placement_groups|servers|images|actions\/)/;

const refuseUnknown: RequestHandler = (req, res, next) => {
  const route = routeOf(req.path);
  if (route === null) throw new ApiError(404, 'not_found', 'path not found');
  if (!route.methods.includes(req.method)) {
    res.set('Allow', route.methods.join(', '));
    throw new ApiError(405, 'method_not_allowed', 'method not allowed');
  }
  next();
};

const sendError: ErrorRequestHandler = (error, _req, res, _next) => {
  const refusal = error instanceof ApiError ? error : refusalOf(error);
  res.status(refusal.status).json(errorBody(refusal.code, refusal.message, refusal.details));
};

/** Errors raised by Express: a path that cannot be decoded, a body that is too large. */
function refusalOf(error: { status?: number; message?: string }): ApiError {
  if (error.status === 413) return new ApiError(413, 'payload_too_large', 'the body is too large');
  if (error.status === 400) return new ApiError(400, 'json_error', 'the request cannot be read');
  return new ApiError(500, 'server_error', String(error.message ?? 'internal error'));
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
