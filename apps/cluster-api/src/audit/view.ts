import type { AuditEntryBody, AuditKind, DnsAuditBody } from '@corral/contracts';
import type { AuditRecord, CutBody, DnsAuditRecord } from './log.js';

/** An audit entry as clients see it. */
export function auditBody(of: AuditRecord): AuditEntryBody {
  const { source, number, kind, action, outcome, actor, target, requestId, detail, changes, dns, createdAt } = of;
  return {
    id: `${source}-${number}`,
    kind: kind as AuditKind,
    action,
    outcome,
    actor: { ...actor },
    target: { ...target },
    requestId,
    changes: changes?.map((change) => ({ ...change })) ?? null,
    detail: { ...detail },
    dns: dns && dnsBody(dns),
    createdAt: createdAt.toISOString(),
  };
}

function dnsBody(of: DnsAuditRecord): DnsAuditBody {
  const { zone, name, type, upstreamStatus, foundApplied, count, refusalCode } = of;
  return {
    zone,
    name,
    type,
    upstreamStatus,
    foundApplied,
    count,
    refusalCode,
    requestBody: shown(of.requestBody, of.requestCut),
    requestBodyCut: of.requestCut,
    upstreamBody: shown(of.upstreamBody, of.upstreamCut),
    upstreamBodyCut: of.upstreamCut,
    foundBody: shown(of.foundBody, of.foundCut),
    foundBodyCut: of.foundCut,
    beforeBody: shown(of.beforeBody, of.beforeCut),
    beforeBodyCut: of.beforeCut,
    afterBody: shown(of.afterBody, of.afterCut),
    afterBodyCut: of.afterCut,
    completedAt: of.completedAt?.toISOString() ?? null,
  };
}

type Json = DnsAuditBody['requestBody'];

/** Real bodies are nested three deep. Deeper ones could overflow the stack of a client and stay strings. */
const DEPTH_MAX = 32;

/** A cut body stays a string, even when the remaining part happens to be JSON. */
function shown(text: string | null, cut: CutBody | null): Json {
  return cut === null ? shownJson(text) : text;
}

function shownJson(text: string | null): Json {
  if (text === null) return null;
  try {
    const value: Json = JSON.parse(text);
    return isWithin(DEPTH_MAX, value) ? value : text;
  } catch {
    return text;
  }
}

function isWithin(depthMax: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depthMax > 0 && Object.values(value).every((member) => isWithin(depthMax - 1, member));
}
