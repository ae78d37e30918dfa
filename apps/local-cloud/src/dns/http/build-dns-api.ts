import { randomBytes } from 'node:crypto';
import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express';
import { pricingRoutes, serverTypeRoutes } from '../../catalogue/catalogue-routes.js';
import { PlacementGroups, placementGroupRoutes } from '../../catalogue/placement-groups.js';
import { computeApi } from '../../compute/compute-routes.js';
import { computeRoutes } from '../../compute/routes.js';
import { countCalls } from '../../faults/call-counts.js';
import { injectFaults } from '../../faults/fault-middleware.js';
import { RouteTable } from '../../faults/route-table.js';
import { ApiError, errorBody, notFound } from '../api-error.js';
import { Budget } from '../budget.js';
import { actionRoutes } from './action-routes.js';
import { type DnsApiDeps, sendPage } from './api-deps.js';
import { locationRoutes } from './location-routes.js';
import { pageOf, parsePage } from './query.js';
import { dnsRoutes } from './routes.js';
import { rrsetRoutes } from './rrset-routes.js';
import { zoneRoutes } from './zone-routes.js';

const BODY_BYTES_MAX = 4 * 1024 * 1024;

/** The Hetzner Cloud DNS API. Every request counts, and meets budget, faults and token in this order. */
export function buildDnsApi(deps: DnsApiDeps): Express {
  const routes = new RouteTable([...dnsRoutes, ...computeRoutes]);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.use(foldSlashes());
  app.use(countCalls(deps.calls, routes));
  app.use(spendBudget(deps));
  app.use(injectFaults(deps.faults, renderFault, 'hcloud'));
  app.use(requireToken(deps));
  app.use(refuseUnknown(routes));
  app.use(express.raw({ type: () => true, limit: BODY_BYTES_MAX }));
  const opensZones = new Set(deps.tokens);
  app.use(
    '/v1',
    computeApi({
      servers: deps.servers,
      nodesIn: deps.nodesIn,
      projectOf: (req) => deps.projectTokens.projectOf(tokenOf(req) ?? ''),
      hasZones: (req) => opensZones.has(tokenOf(req) ?? ''),
    }),
  );
  app.use('/v1', actionRoutes(deps));
  app.use('/v1/zones/:zone/rrsets', rrsetRoutes(deps));
  app.use('/v1/zones', zoneRoutes(deps));
  app.use('/v1/locations', locationRoutes());
  app.use('/v1/pricing', pricingRoutes());
  app.use('/v1/server_types', serverTypeRoutes());
  const groups = new PlacementGroups(deps.clock);
  app.use(
    '/v1/placement_groups',
    placementGroupRoutes(groups, (req) => tokenOf(req) ?? ''),
  );
  app.use(sendError);
  return app;
}

/** Clients whose endpoint ends in a slash send `//zones`. */
function foldSlashes(): RequestHandler {
  return (req, _res, next) => {
    const [path = '', ...query] = req.url.split('?');
    if (path.includes('//')) req.url = [path.replace(/\/{2,}/g, '/'), ...query].join('?');
    next();
  };
}

/** Each project has a budget of its own; without a good token it is that of the zones' project. */
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
      // The one clock of everything that is told here.
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

/** A token opens its own project only: with one of another project there are no zones here. */
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
    if (opensZones.has(token) || isOfEveryProject(req.path)) return next();
    if (req.path !== '/v1/zones') throw notFound('zone');
    sendPage(req, res, 'zones', pageOf([], parsePage(req, 50)), (zone) => zone);
  };
}

/** What is the same in every project, or each has for itself. */
const ofEveryProject = [
  ...['locations', 'pricing', 'server_types', 'placement_groups', 'servers', 'images', 'actions'],
];
const isOfEveryProject = (path: string): boolean => ofEveryProject.includes(path.split('/')[2] ?? '');

function refuseUnknown(routes: RouteTable): RequestHandler {
  return (req, res, next) => {
    const route = routes.find(req.path);
    if (route === null) throw new ApiError(404, 'not_found', 'path not found');
    if (!route.methods.includes(req.method)) {
      res.set('Allow', route.methods.join(', '));
      throw new ApiError(405, 'method_not_allowed', 'method not allowed');
    }
    next();
  };
}

const sendError: ErrorRequestHandler = (error, _req, res, _next) => {
  const refusal = error instanceof ApiError ? error : refusalOf(error);
  res.status(refusal.status).json(errorBody(refusal.code, refusal.message, refusal.details));
};

/** What Express itself refuses: a path that cannot be decoded, a body that is too large. */
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
