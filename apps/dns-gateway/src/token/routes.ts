import type { ChargedBudget } from '@corral/admission';
import { DNS_READ_SCOPE, DNS_SCOPE, type DnsCaller, dnsCallerOf } from '@corral/auth';
import { coveredRoot, coversType, type TokenBody, writableTypes } from '@corral/contracts';
import { quotaOf, type RecordQuota, type TokenUse } from '@corral/dns-data';
import { sendJsonText } from '@corral/http-api';
import type { RequestHandler } from 'express';
import { tokenUnknown } from '../dns-error.js';
import type { Services } from '../services.js';

/** What a token says about itself. It knows its own team or demo and no other. */
export function tokenRoutes({ zones, readTokenUse, limits, config }: Services): Record<'getToken', RequestHandler> {
  return {
    async getToken(_req, res) {
      const caller = dnsCallerOf(res);
      const { id, name } = await zones.of(caller).identify();
      const use = await readTokenUse(caller, id);
      if (use === null) throw tokenUnknown();
      const { token, team } = limits.leftOf(res);
      const body: TokenBody = {
        ...identityOf(caller, use),
        endpoint: config.publicUrl,
        zone: { id, name },
        ...reachOf(caller),
        requests: { per_token: leftBody(token), per_team: leftBody(team) },
        records: canRead(caller) ? quotaBody(caller, use, config.quota) : null,
      };
      sendJsonText(res, 200, JSON.stringify({ token: body }));
    },
  };
}

const canWrite = ({ scopes }: DnsCaller): boolean => scopes.includes(DNS_SCOPE);
const canRead = (caller: DnsCaller): boolean => canWrite(caller) || caller.scopes.includes(DNS_READ_SCOPE);

/** The team of a demo is not shown: its token is for people outside the team. */
function identityOf({ tokenId, kind, ownerLabel, scopes, expiresAt }: DnsCaller, use: TokenUse) {
  return {
    id: tokenId,
    name: use.name,
    kind: use.isOfSession ? ('session' as const) : kind,
    scopes: [...scopes],
    created_at: use.createdAt.toISOString(),
    expires_at: expiresAt?.toISOString() ?? null,
    team: kind === 'team' ? ownerLabel : null,
    demo: kind === 'demo' ? ownerLabel : null,
  };
}

function reachOf(caller: DnsCaller) {
  if (!canRead(caller)) return { names: [], types: [] };
  const types = canWrite(caller) ? writableTypes.filter((type) => coversType(caller, type)) : [];
  return { names: [coveredRoot(caller)], types };
}

const leftBody = ({ limit, remaining, resetAt }: ChargedBudget) => ({
  limit,
  remaining,
  reset_at: new Date(resetAt).toISOString(),
});

function quotaBody({ kind }: DnsCaller, { used, reserved, recordsMax }: TokenUse, quota: RecordQuota) {
  const { limit, quota: own } = quotaOf(kind, quota, recordsMax);
  return { used, reserved, limit: own[limit], limit_per_rrset: own.recordsPerRrset };
}
