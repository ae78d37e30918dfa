import { randomUUID } from 'node:crypto';
import type { AdoptedServer, AdoptedServerSpec, Operation } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { operationIdOf, type TeamCall, type TeamClient } from './client.js';
import type { ClusterSystem, ClusterTeam } from './start-cluster-system.js';

/** A server as the admin address of the local cloud describes it. */
export interface HeldServer {
  readonly id: number;
  readonly name: string;
  readonly serverType: string;
  readonly location: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly rebuilds: number;
  /** Requests that Corral must never send. */
  readonly harms: readonly string[];
}

export const adoptedServersPath = '/connections/main/adopted-servers/';

/** The labels that others have put on every server that is created here. */
export const otherLabels = { env: 'prod' } as const;

/** All servers that ever existed, as the provider holds them. */
export const heldServers = async ({ cloud }: Pick<ClusterSystem, 'cloud'>): Promise<HeldServer[]> =>
  (await cloud.admin<{ servers: HeldServer[] }>('GET', '/servers')).servers;

/** Creates a server in the cloud project of the team. @returns the description that is needed to adopt it */
export async function makeServer(
  { cloud }: Pick<ClusterSystem, 'cloud'>,
  { providerToken }: Pick<ClusterTeam, 'providerToken'>,
  { isArm = false, hasSshKeys = true }: { isArm?: boolean; hasSshKeys?: boolean } = {},
): Promise<AdoptedServerSpec> {
  const { server } = await cloud.admin<{ server: HeldServer }>('POST', '/servers', {
    token: providerToken,
    architecture: isArm ? 'arm' : 'x86',
    labels: otherLabels,
    hasSshKeys,
  });
  const { id: serverID, serverType, location } = server;
  return { serverID, serverType, location, architecture: isArm ? 'arm64' : 'amd64', serverKind: 'cloud' };
}

export const adoptionOf = (spec: AdoptedServerSpec): TeamCall => ({
  method: 'POST',
  path: adoptedServersPath,
  body: { spec, acknowledge: { confirm: 'WIPE' } },
  headers: { 'Idempotency-Key': randomUUID() },
});

/** @returns the operation once it has ended */
export async function adoptServer(client: TeamClient, spec: AdoptedServerSpec): Promise<Operation> {
  const answer = await client.insist(adoptionOf(spec));
  const id = operationIdOf(answer);
  if (id === null) throw new Error(`server ${spec.serverID} was not adopted: ${answer.status} ${answer.text}`);
  return client.untilEnded(id);
}

/** Adopted servers by the number of the server. */
export const adoptedServers = async (client: TeamClient): Promise<AdoptedServer[]> =>
  (await client.insist({ method: 'GET', path: adoptedServersPath })).json[0].items;

/** @returns the servers as soon as they fit */
export const untilServers = (
  client: TeamClient,
  description: string,
  fits: (servers: readonly AdoptedServer[]) => boolean,
  { timeoutMs = 90_000 }: { readonly timeoutMs?: number } = {},
): Promise<AdoptedServer[]> =>
  waitFor(
    `servers ${description}`,
    async () => {
      const servers = await adoptedServers(client);
      if (fits(servers)) return servers;
      throw new Error(JSON.stringify(servers.map(({ metadata, status }) => [metadata.serverID, status])));
    },
    { timeoutMs },
  );
