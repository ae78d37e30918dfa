import type { DnsSession, DnsSessionOwner } from '@corral/auth';
import type { ClusterOperationId, DnsSessionBody } from '@corral/contracts';
import type { RequestHandler } from 'express';
import { personCallerOf, signedInOf } from '../http/caller.js';
import { notFound, Problem } from '../problem.js';

interface DnsSessionRoutesDeps {
  /** @returns null when the session or the membership has ended */
  readonly start: (owner: DnsSessionOwner) => Promise<DnsSession | null>;
  /** Null when this installation does not state where its DNS API is. */
  readonly dnsApi: DnsApi | null;
}

/** Where people find the DNS API of the installation. */
export interface DnsApi {
  /** Base URL, which ends in `/v1`. */
  readonly endpoint: string;
  /** The zone of all teams. */
  readonly zone: string;
}

export function dnsSessionRoutes({ start, dnsApi }: DnsSessionRoutesDeps) {
  return {
    async startDnsSession(_req, res) {
      if (dnsApi === null) throw notFound();
      const { team, userId } = personCallerOf(res);
      const session = await start({ sessionId: signedInOf(res).id, userId, teamId: team.id });
      if (session === null) {
        throw new Problem('authentication_required', 'The session has ended. Sign in and try again.');
      }
      res.status(201).json({
        endpoint: dnsApi.endpoint,
        zone: dnsApi.zone,
        token: session.token,
        expiresAt: session.expiresAt.toISOString(),
      } satisfies DnsSessionBody);
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}
