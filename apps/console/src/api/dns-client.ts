import {
  type ClusterSchemas,
  type CorralDnsClient,
  createDnsClient,
  type DnsSchemas,
  renewedToken,
} from '@corral/client';
import { bodyOf, corral } from './corral.js';
import { fetchTimed } from './slow-reads.js';

/** The DNS session of a team, see `POST …/dns-session/`. The token stays in memory. */
type DnsSession = ClusterSchemas['DnsSession'];

/** The DNS API for one team. */
export interface TeamDns {
  readonly client: CorralDnsClient;
  readonly endpoint: string;
  /** Name of the zone. */
  readonly zone: string;
}

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
  let first: DnsSession | null = await start();
  const { endpoint, zone } = first;
  const bearer = renewedToken(async () => {
    const { token, expiresAt } = first ?? (await start());
    first = null;
    return { token, validMs: Date.parse(expiresAt) - Date.now() };
  });
  return { client: clientAt(endpoint, bearer), endpoint, zone };
}

/** What a token says about itself. @throws CorralError with 401 for one that is not valid */
export const readToken = async (endpoint: string, token: string): Promise<DnsSchemas['Token']> =>
  (await bodyOf(clientAt(endpoint, token).getToken())).token;

const clientAt = (baseUrl: string, bearer: string | ((rejected: string | null) => Promise<string>)): CorralDnsClient =>
  createDnsClient({ baseUrl, credentials: { bearer }, retries: 0, fetch: fetchTimed });
