import type { BodyLimits } from '../body-limits.js';
import { type DnsErrorCode, dnsUpstreamErrors } from './error-codes.js';
import { dnsBodyLimits } from './limits.js';
import type { DnsRoute } from './routes.js';

const namesThings = (route: DnsRoute): boolean => route.path.includes('{');
const isOfDemos = (route: DnsRoute): boolean => route.path.startsWith('/demos');
/** What can take its owner past a quota. */
const takesRoom = ['createRrset', 'setRecords', 'addRecords', 'createDemo'];

/** Whether a write is sent upstream, whose refusals pass through. */
export const isForwarded = (route: DnsRoute): boolean => route.kind === 'write' && !isOfDemos(route);

/** The codes that the gateway itself can answer a route with. */
export function dnsErrorsOf(route: DnsRoute): DnsErrorCode[] {
  const writes = route.kind === 'write';
  const codes: DnsErrorCode[] = [
    ...(writes || route.query !== undefined ? (['invalid_input'] as const) : []),
    ...(['unauthorized', 'forbidden'] as const),
    ...(takesRoom.includes(route.operationId) ? (['resource_limit_exceeded'] as const) : []),
    ...(namesThings(route) ? (['not_found'] as const) : []),
    'method_not_allowed',
    ...(isForwarded(route) ? (['conflict'] as const) : []),
    ...(route.operationId === 'createDemo' ? (['uniqueness_error'] as const) : []),
    ...(writes ? (['payload_too_large', 'unsupported_media_type'] as const) : []),
    ...(['rate_limit_exceeded', 'server_error'] as const),
    ...(isForwarded(route) ? (['upstream_unavailable'] as const) : []),
    'unavailable',
  ];
  return codes;
}

/** What the upstream is known to refuse a route with. */
export const dnsUpstreamErrorsOf = (route: DnsRoute): readonly (typeof dnsUpstreamErrors)[number][] =>
  isForwarded(route) ? dnsUpstreamErrors : [];

export const dnsBodyLimitsOf = (route: DnsRoute): BodyLimits =>
  isOfDemos(route) ? dnsBodyLimits.demos : dnsBodyLimits.recordSets;
