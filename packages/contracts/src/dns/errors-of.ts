import type { BodyLimits } from '../body-limits.js';
import { type DnsErrorCode, dnsUpstreamErrors } from './error-codes.js';
import { dnsBodyLimits } from './limits.js';
import type { DnsRoute } from './routes.js';

const hasPathParameter = (route: DnsRoute): boolean => route.path.includes('{');
const isDemoRoute = (route: DnsRoute): boolean => route.path.startsWith('/demos');
/** Operations that can exceed a quota. */
const increasesUsage = ['createRrset', 'setRecords', 'addRecords', 'createDemo'];

/** Whether a write is sent upstream, so that upstream errors pass through. */
export const isForwarded = (route: DnsRoute): boolean => route.kind === 'write' && !isDemoRoute(route);

/** The error codes of the gateway itself for a route. */
export function dnsErrorsOf(route: DnsRoute): DnsErrorCode[] {
  const writes = route.kind === 'write';
  const codes: DnsErrorCode[] = [
    ...(writes || route.query !== undefined ? (['invalid_input'] as const) : []),
    'unauthorized',
    ...(route.anyScope ? [] : (['forbidden'] as const)),
    ...(increasesUsage.includes(route.operationId) ? (['resource_limit_exceeded'] as const) : []),
    ...(hasPathParameter(route) ? (['not_found'] as const) : []),
    'method_not_allowed',
    ...(isForwarded(route) ? (['conflict'] as const) : []),
    ...(route.operationId === 'createDemo' ? (['uniqueness_error'] as const) : []),
    ...(writes ? (['payload_too_large', 'unsupported_media_type'] as const) : []),
    'rate_limit_exceeded',
    'server_error',
    ...(isForwarded(route) ? (['upstream_unavailable'] as const) : []),
    'unavailable',
  ];
  return codes;
}

/** The known upstream errors for a route. */
export const dnsUpstreamErrorsOf = (route: DnsRoute): readonly (typeof dnsUpstreamErrors)[number][] =>
  isForwarded(route) ? dnsUpstreamErrors : [];

export const dnsBodyLimitsOf = (route: DnsRoute): BodyLimits =>
  isDemoRoute(route) ? dnsBodyLimits.demos : dnsBodyLimits.recordSets;

/**
 * The answer to a valid token of another team. `hidden`: as for a missing resource. `forbidden`: the name belongs to
 * another owner, whether it exists or not. `left out`: served without the team's resources. `shared`: the same answer
 * for all.
 */
export type StrangerVerdict = 'hidden' | 'forbidden' | 'left out' | 'shared';

export function dnsStrangerVerdictOf({ path, kind }: DnsRoute): StrangerVerdict {
  if (path === '/zones' || path === '/zones/{zone}') return 'shared';
  if (kind === 'write' && path.startsWith('/zones')) return 'forbidden';
  return /\{(name|id|label)\}/.test(path) ? 'hidden' : 'left out';
}
