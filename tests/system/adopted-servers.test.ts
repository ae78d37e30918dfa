import type { AdoptedServer, Operation } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TeamClient } from '../support/clusters/client.js';
import type { HeldServer } from '../support/clusters/judge-servers.js';
import { heldServers } from '../support/clusters/server-journey.js';
import { type ClusterSystem, type ClusterTeam, startClusterSystem } from '../support/clusters/start-cluster-system.js';
import { killInTurns } from '../support/killer.js';

const KILLS = 20;
const LANES_PER_TEAM = 2;
/** Below the quota, with room for those that are being deregistered. */
const SERVERS_PER_LANE = 20;
const PATIENCE_MS = 120_000;
const servers = '/connections/main/adopted-servers/';

let system: ClusterSystem;
beforeAll(async () => {
  system = await startClusterSystem({
    ...{ apis: 2, reconcilers: 2, teams: ['acme', 'globex'] },
    reconcilerEnv: { SERVER_REBUILD_GRACE_MS: '4s', RECONCILE_LEASE_MS: '2s' },
  });
}, PATIENCE_MS);
afterAll(() => system?.stop());

const atProvider = (): Promise<HeldServer[]> => heldServers(system);

/** What one acknowledgement became: how often the server may have been rebuilt for it, and what it ended as. */
interface Adopted {
  readonly serverId: number;
  readonly operation: Operation;
  readonly isDeregistered: boolean;
}

async function adoptOne({ admin, providerToken }: ClusterTeam, number: number): Promise<Adopted> {
  const architecture = number % 2 === 0 ? 'x86' : 'arm';
  const made = await system.cloud.admin<{ server: HeldServer }>('POST', '/servers', {
    ...{ token: providerToken, architecture, labels: { env: 'prod' }, hasSshKeys: number % 3 === 0 },
  });
  const { id: serverID, serverType, location } = made.server;
  const spec = {
    serverID,
    serverType,
    location,
    architecture: number % 2 === 0 ? 'amd64' : 'arm64',
    serverKind: 'cloud',
  };
  const accepted = await admin.insist(
    {
      ...{ method: 'POST', path: servers, body: { spec, acknowledge: { confirm: 'WIPE' } } },
      headers: { 'Idempotency-Key': `adopt-${serverID}` },
    },
    { timeoutMs: PATIENCE_MS },
  );
  expect([accepted.status, accepted.json?.detail]).toEqual([202, undefined]);
  const operationId = operationIn(accepted.headers);
  const wantsDetached = number % 3 === 2;
  // Some are let go at any moment of their adoption, the others when it has ended.
  if (!wantsDetached || number % 2 === 0) await admin.untilEnded(operationId, { timeoutMs: PATIENCE_MS });
  if (wantsDetached) await detach(admin, serverID);
  const operation = await admin.untilEnded(operationId, { timeoutMs: PATIENCE_MS });
  return { serverId: serverID, operation, isDeregistered: wantsDetached };
}

async function detach(admin: TeamClient, serverId: number): Promise<void> {
  const path = `${servers}${serverId}/`;
  const { status } = await admin.insist({ method: 'DELETE', path }, { timeoutMs: PATIENCE_MS });
  // The answer to the first request may have been lost, and its work be done.
  expect([204, 404]).toContain(status);
  await waitFor(
    `server ${serverId} to be detached`,
    async () => (await admin.insist({ method: 'GET', path })).status === 404,
    { timeoutMs: PATIENCE_MS },
  );
}

const operationIn = (headers: Headers): string =>
  /\/operations\/([0-9a-f-]{36})\/$/.exec(headers.get('operation-location') ?? '')?.[1] as string;

describe('servers that are adopted while processes are killed', () => {
  it('are rebuilt exactly once for each acknowledgement, and neither deleted nor powered off', async () => {
    const problems: string[] = [];
    const adopted: Adopted[] = [];
    let kills = 0;
    let busyLanes = system.teams.length * LANES_PER_TEAM;
    const hasEnough = () => kills >= KILLS;
    const lane = async (team: ClusterTeam): Promise<void> => {
      try {
        for (let number = 0; number < SERVERS_PER_LANE && !hasEnough(); number += 1) {
          adopted.push(await adoptOne(team, number));
        }
      } catch (error) {
        problems.push(String(error));
      }
      busyLanes -= 1;
    };
    const lanes = system.teams.flatMap((team) => Array.from({ length: LANES_PER_TEAM }, () => lane(team)));
    await killInTurns([...system.apis, ...system.reconcilers], {
      seed: 4_711,
      isOver: () => hasEnough() || busyLanes === 0,
      onKill: () => {
        kills += 1;
      },
      onProblem: (problem) => void problems.push(problem),
    });
    await Promise.all(lanes);

    expect(problems).toEqual([]);
    expect(kills).toBeGreaterThanOrEqual(KILLS);
    expect(adopted.length).toBeGreaterThanOrEqual(system.teams.length * LANES_PER_TEAM);
    const found = new Map((await atProvider()).map((server) => [server.id, server]));
    for (const { serverId, operation, isDeregistered } of adopted) {
      const server = found.get(serverId) as HeldServer;
      expect(server).toMatchObject({ powerOffs: 0, deletedBy: null });
      const ends = isDeregistered ? ['succeeded', 'superseded'] : ['succeeded'];
      expect(ends).toContain(operation.state);
      if (operation.state === 'succeeded') expect([serverId, server.rebuilds]).toEqual([serverId, 1]);
      expect(server.rebuilds).toBeLessThanOrEqual(1);
      const labels = isDeregistered ? { env: 'prod' } : { env: 'prod', 'corral.dev/claim': expect.any(String) };
      expect(server.labels).toEqual(labels);
    }
    const calls = Object.keys(await system.cloud.calls());
    expect(calls).toContain('POST /v1/servers/:server/actions/rebuild');
    expect(calls.filter((route) => /^DELETE .*servers|poweroff|change_protection/.test(route))).toEqual([]);
  }, 240_000);

  it('are all told of as what they are at the provider', async () => {
    const found = new Map((await atProvider()).map((server) => [server.id, server]));
    for (const { member } of system.teams) {
      const { json } = await member.insist({ method: 'GET', path: servers });
      const items: AdoptedServer[] = json[0].items;
      expect(items.length).toBeGreaterThan(0);
      for (const { metadata, status } of items) {
        expect([metadata.serverID, status.phase]).toEqual([metadata.serverID, 'Ready']);
        expect(found.get(metadata.serverID)?.name).toBe(metadata.name);
      }
    }
  });
});
