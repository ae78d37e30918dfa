import { type ClusterSchemas, type CorralDnsClient, createDnsClient, type DnsSchemas } from '@corral/client';
import { bodyOf, corral } from './corral.js';

/** The DNS session of a team, see `POST …/dns-session/`. The token stays in memory. */
type DnsSession = ClusterSchemas['DnsSession'];

/** The DNS API for one team. */
export interface TeamDns {
  readonly client: CorralDnsClient;
  readonly endpoint: string;
  /** Name of the zone. */
  readonly zone: string;
}

/** A token is renewed this long before it expires. */
const RENEW_BEFORE_MS = 120_000;

const known = new Map<string, Promise<TeamDns>>();

/** One client per team, so that all requests share one token. @throws CorralError */
export function dnsOf(team: string): Promise<TeamDns> {
  const existing = known.get(team);
  if (existing !== undefined) return existing;
  const connecting = connect(() => bodyOf(corral.startDnsSession({ team })));
  known.set(team, connecting);
  connecting.catch(() => {
    if (known.get(team) === connecting) known.delete(team);
  });
  return connecting;
}

/** Discards all tokens, for a sign-out. */
export const forgetDnsSessions = (): void => known.clear();

async function connect(start: () => Promise<DnsSession>): Promise<TeamDns> {
  const sessions = renewedSessions(start);
  const { endpoint, zone } = await sessions(null);
  const bearer = async (rejected: string | null) => (await sessions(rejected)).token;
  return { client: clientAt(endpoint, bearer), endpoint, zone };
}

/** Renews the session once for all requests that wait for it: before it expires, or when its token was refused. */
function renewedSessions(start: () => Promise<DnsSession>): (rejected: string | null) => Promise<DnsSession> {
  let current: Promise<DnsSession> | null = null;
  return async (rejected) => {
    const used = current;
    const session = await used?.catch(() => null);
    // Another request may have renewed it meanwhile.
    if (current !== used && current !== null) return current;
    if (session && session.token !== rejected && Date.now() < Date.parse(session.expiresAt) - RENEW_BEFORE_MS)
      return session;
    current = start();
    return current;
  };
}

/** What a token says about itself. @throws CorralError with 401 for one that is not valid */
export const readToken = async (endpoint: string, token: string): Promise<DnsSchemas['Token']> =>
  (await bodyOf(clientAt(endpoint, token).getToken())).token;

const clientAt = (baseUrl: string, bearer: string | ((rejected: string | null) => Promise<string>)): CorralDnsClient =>
  createDnsClient({ baseUrl, credentials: { bearer }, retries: 0 });
