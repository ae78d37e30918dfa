import { type DnsRoute, dnsZoneRoutes } from '@corral/contracts';
import type { Request } from 'express';

/** What the request limits tell apart: writes and reads of one set wait, reads of actions count against the address only. */
export type RequestKind = 'write' | 'rrset' | 'action' | 'other';

interface Pattern {
  readonly kind: RequestKind;
  readonly method: string;
  readonly path: RegExp;
}

const patterns: readonly Pattern[] = (dnsZoneRoutes as readonly DnsRoute[]).flatMap((row) => {
  const kind = kindOf(row);
  if (kind === 'other') return [];
  const path = new RegExp(`^${row.path.replaceAll(/\{\w+\}/g, '[^/]+')}/?$`);
  return [{ kind, method: row.method.toUpperCase(), path }];
});

/** Of a request below `/v1`, before it has met its route. */
export function requestKind({ method, path, url }: Pick<Request, 'method' | 'path' | 'url'>): RequestKind {
  const served = method === 'HEAD' ? 'GET' : method;
  const kind = patterns.find((each) => each.method === served && each.path.test(path))?.kind ?? 'other';
  // A page of all actions is a list as any other.
  return kind === 'action' && !(hasId.test(path) || hasId.test(url)) ? 'other' : kind;
}

const hasId = /\/actions\/|[?&]id=/;

function kindOf({ operationId, kind, path }: DnsRoute): RequestKind {
  if (kind === 'write') return 'write';
  if (operationId === 'getRrset') return 'rrset';
  return /^(\/zones(\/\{zone\})?)?\/actions(\/|$)/.test(path) ? 'action' : 'other';
}
