import { type CorralDnsClient, createDnsClient, type DnsSchemas, isCorralError } from '@corral/client';
import { type Rrset, writableTypes, type Zone } from '@corral/contracts';
import type { PlanContext } from '@corral/domain';
import type { Cli } from '../cli.js';
import { connectTeam } from '../clusters/team-api.js';
import { dnsAccess } from '../settings/settings.js';

/** What a DNS token says about itself. */
export type DnsTokenFacts = DnsSchemas['Token'];

/** The record sets that a token can read, in their zone. */
export interface DnsZone {
  readonly client: CorralDnsClient;
  readonly facts: DnsTokenFacts;
  /** What can be written, and how much of it. */
  readonly context: PlanContext;
  readonly zone: Zone;
  readonly list: () => Promise<Rrset[]>;
}

/** A write waits for up to 10 s at the gateway, and one without an answer is settled after that. */
const REQUEST_MS = 60_000;
const CALL_MS = 120_000;

/** Connects by a DNS token, or else by the session of a signed-in person. @throws CliError without both */
export async function connectDns(cli: Cli): Promise<CorralDnsClient> {
  const { given, io, sending } = cli;
  const access = dnsAccess(await given());
  const { url, bearer } = access === null ? await accessBySession(cli) : { url: access.url, bearer: access.token };
  return createDnsClient({
    baseUrl: url,
    credentials: { bearer },
    ...sending,
    requestTimeoutMs: REQUEST_MS,
    timeoutMs: CALL_MS,
    pause: io.sleep,
  });
}

/** The token of a session is valid for 15 minutes, and is replaced when the gateway refuses it. */
async function accessBySession(cli: Cli) {
  const { client, team, signal } = await connectTeam(cli);
  const start = async () => (await client.startDnsSession({ team }, { signal })).body;
  const { endpoint, token } = await start();
  let current = token;
  const bearer = async (rejected: string | null) => {
    if (rejected === current) current = (await start()).token;
    return current;
  };
  return { url: endpoint, bearer };
}

/** @throws CliError or CorralError */
export async function connectZone(cli: Cli): Promise<DnsZone> {
  const client = await connectDns(cli);
  const { signal } = cli.io;
  const facts = (await client.getToken({}, { signal })).body.token;
  const zoneId = { zone: facts.zone.name };
  const { zone } = (await client.getZone(zoneId, { signal })).body;
  const list = (): Promise<Rrset[]> => client.listAll('listRrsets', zoneId, { signal });
  return { client, facts, context: planContextOf(facts), zone, list };
}

function planContextOf({ zone, team, demo, names, types, records }: DnsTokenFacts): PlanContext {
  const ownerLabel = team ?? demo ?? '';
  const [within = ownerLabel] = names;
  return {
    zoneName: zone.name,
    ownerLabel,
    withinName: within === ownerLabel ? null : within,
    withinTypes: types.length === writableTypes.length ? [] : types,
    records: records ?? { used: 0, reserved: 0, limit: 0 },
  };
}

/** @returns null when the set does not exist, or the token cannot read it */
export async function readSet(
  { client, zone }: DnsZone,
  { name, type }: { readonly name: string; readonly type: string },
): Promise<Rrset | null> {
  try {
    return (await client.getRrset({ zone: zone.name, name, type })).body.rrset;
  } catch (error) {
    if (isCorralError(error) && error.status === 404) return null;
    throw error;
  }
}

/** A record set as it is printed. */
export const setBody = ({ name, type, ttl, labels, records }: Rrset) => ({ name, type, ttl, labels, records });
