import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express';
import type { Cloud } from '../cloud.js';
import { serverRoutes } from '../compute/server-routes.js';
import { zoneRoutes } from '../dns/zone-routes.js';
import { countCall, injectFaults } from '../faults/calls.js';
import { sendJson, serveRoutes } from '../http/serve-routes.js';
import { ApiError, errorBody, notFound } from './answers.js';
import { placementGroupRoutes } from './placement-groups.js';
import { pricingBody } from './prices.js';

const BODY_BYTES_MAX = 4 * 1024 * 1024;

/** The Hetzner Cloud API. Every request is counted, then checked against budget, faults and token in this order. */
export function buildHcloudApi(cloud: Cloud): Express {
  const { calls, projectTokens } = cloud;
  const projectOf = (req: Request): string => projectTokens.projectOf(tokenOf(req) ?? '');
  const guards = [
    spendBudget(cloud),
    injectFaults(calls, renderFault, 'hcloud'),
    requireToken(cloud),
    express.raw({ type: () => true, limit: BODY_BYTES_MAX }),
  ];
  const app = express();
  app.disable('x-powered-by');
  const routes = {
    ...zoneRoutes(cloud),
    ...serverRoutes(cloud, projectOf),
    ...placementGroupRoutes(),
    'GET /v1/pricing': () => ({ pricing: pricingBody() }),
  };
  serveRoutes(app, routes, (pattern) => [countCall(calls, pattern), ...guards]);
  app.use(countCall(calls, 'unknown'), ...guards, () => {
    throw new ApiError(404, 'not_found', 'path not found');
  });
  app.use(sendError);
  return app;
}

/** The budget is that of the zones' project: requests of other projects cost nothing, those without a valid token do. */
function spendBudget({ budget, tokens, projectTokens, clock }: Cloud): RequestHandler {
  return (req, res, next) => {
    // The simulated clock, which tests can advance.
    res.set('Date', new Date(clock.now()).toUTCString());
    const token = tokenOf(req) ?? '';
    if (!tokens.includes(token) && projectTokens.stateOf(token) !== 'unknown') return next();
    const granted = budget.take(clock.now());
    const { limit, remaining, resetsAt } = budget.state(clock.now());
    res.set({
      'RateLimit-Limit': String(limit),
      'RateLimit-Remaining': String(remaining),
      'RateLimit-Reset': String(resetsAt),
    });
    if (!granted) throw new ApiError(429, 'rate_limit_exceeded', `limit of ${limit} requests per hour reached`);
    next();
  };
}

const tokenOf = (req: Request): string | undefined => /^Bearer +(\S+)$/i.exec(req.get('Authorization') ?? '')?.[1];

/** A token gives access to its own project only. Other projects have no zones. */
function requireToken({ tokens, projectTokens }: Cloud): RequestHandler {
  return (req, _res, next) => {
    const token = tokenOf(req);
    if (token === undefined) throw new ApiError(401, 'unauthorized', 'token is required');
    const state = projectTokens.stateOf(token);
    if (state === 'unknown') throw new ApiError(401, 'unauthorized', 'the token you have provided is invalid');
    if (state === 'read-only' && req.method !== 'GET')
      throw new ApiError(401, 'token_readonly', 'token is only allowed to perform GET requests');
    if (req.path.startsWith('/v1/zones') && !tokens.includes(token)) throw notFound('zone');
    next();
  };
}

const sendError: ErrorRequestHandler = (error, _req, res, _next) => {
  const { status, code, message, details } =
    error instanceof ApiError ? error : new ApiError(500, 'server_error', String(error.message));
  sendJson(res, status, errorBody(code, message, details));
};

const renderFault = (_status: number, code = 'server_error', message: string) => errorBody(code, message);
