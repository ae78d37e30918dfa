import { randomBytes } from 'node:crypto';
import type { OperationWaiting, ServerId } from '@corral/contracts';
import { connectProjects } from '@corral/hcloud';
import {
  type FaultRule,
  type LocalCloud,
  type LocalCloudOptions,
  type ServerOptions,
  startLocalCloud,
} from '@corral/local-cloud';
import { connectQueue } from '@corral/queue';
import { KeyRing } from '@corral/secrets';
import { createMetrics, silentLog } from '@corral/service';
import { buildServerWorkers, type ServerSettings } from '../../src/servers/workers.js';
import { openClusterRows } from './cluster-rows.js';
import { type FakeShoots, fakeShoots, shootIn } from './fake-shoots.js';

export const PROJECT_TOKEN = 'p'.repeat(64);
export const OTHER_TOKEN = 'q'.repeat(64);

interface ServerRow {
  readonly id: ServerId;
  readonly server_id: string;
  readonly phase: string;
  readonly message: string;
  readonly name: string;
  readonly generation: number;
  readonly claim_token: string;
  readonly rebuild_asked_at: Date | null;
  readonly rebuild_action_id: string | null;
  readonly adopted_at: Date | null;
  readonly purpose: string;
  readonly node_pool_id: string | null;
  readonly member_of_id: string | null;
  readonly node_name: string | null;
  readonly node_ready: boolean;
  readonly due_at: Date | null;
  readonly operation: {
    readonly state: string;
    readonly progress: number;
    readonly error: { readonly code?: string };
    readonly waiting: OperationWaiting | null;
  };
}

const onTheirWay = ['Adopting', 'Rebuilding', 'Joining', 'Leaving', 'Deregistering'];

export const serverSettings: ServerSettings = {
  concurrency: 4,
  leaseMs: 5_000,
  image: 'ubuntu-24.04',
  times: {
    rebuildGraceMs: 12_000,
    adoptionMsMax: 3_600_000,
    joinMsMax: 1_800_000,
    commandMsMax: 604_800_000,
    drainMsMax: 600_000,
  },
};

/** Servers of a team in a project of the local cloud, and the loop over them. */
export async function startServers(cloudOptions: Partial<LocalCloudOptions> = {}) {
  const rows = await openClusterRows();
  const cloud = await startLocalCloud({
    tokens: ['x'.repeat(64)],
    projectTokens: [PROJECT_TOKEN, OTHER_TOKEN],
    zones: [{ name: 'example.test' }],
    actionMs: 10_000,
    ...cloudOptions,
  });
  const keys = new KeyRing([{ id: 'k1', bytes: randomBytes(32) }]);
  const queue = connectQueue({ databaseUrl: rows.url, redisUrl: undefined, log: silentLog });
  let aheadMs = 0;
  const shoots = fakeShoots();
  const { pool, prisma } = rows;
  const services = { pool, prisma, queue, metrics: createMetrics({ service: 'test' }), log: silentLog };
  const workers = buildServerWorkers(services, {
    settings: serverSettings,
    keys,
    nodes: shoots.nodes,
    projects: connectProjects({ baseUrl: cloud.apiUrl, timeoutMs: 60_000, tick: () => performance.now() + aheadMs }),
  });
  const team = await rows.addTeam();
  const connectionId = await rows.addConnection(team);
  const useToken = async (token: string): Promise<void> => {
    const { keyId, bytes } = keys.seal(token, connectionId);
    await rows.pool.query('UPDATE connection SET sealed_token = $2, token_key_id = $3 WHERE id = $1', [
      connectionId,
      Buffer.from(bytes),
      keyId,
    ]);
  };
  await useToken(PROJECT_TOKEN);

  const server = async (id: ServerId): Promise<ServerRow | undefined> => {
    const { rows: found } = await rows.pool.query<ServerRow>(
      `SELECT s.*, json_build_object('state', o.state, 'progress', o.progress, 'error', o.error, 'waiting', o.waiting) AS operation
       FROM adopted_server s JOIN operation o ON o.id = s.operation_id WHERE s.id = $1`,
      [id],
    );
    return found[0];
  };
  const beginOperation = (id: ServerId, kind: string) =>
    rows.pool.query(
      `WITH ended AS (
         UPDATE operation SET state = 'superseded' WHERE target_id = $1 AND state IN ('queued', 'running')
       ), begun AS (
         INSERT INTO operation (team_id, kind, target_kind, target_id, target_name, generation, state, desired_hash)
         SELECT team_id, $2, 'AdoptedServer', id, server_id::text, generation, 'queued', 'h'
         FROM adopted_server WHERE id = $1 RETURNING id
       )
       UPDATE adopted_server SET operation_id = begun.id, due_at = clock_timestamp() - interval '1 s' FROM begun WHERE adopted_server.id = $1`,
      [id, kind],
    );
  /** One pass, as if its time had come. */
  const passNow = async (id: ServerId): Promise<void> => {
    // Columns hold whole milliseconds, rounded: what is due this very moment could be due in the future.
    await rows.pool.query("UPDATE adopted_server SET due_at = clock_timestamp() - interval '1 s' WHERE id = $1", [id]);
    await workers.pass(id, new AbortController().signal);
  };
  return {
    ...rows,
    cloud,
    workers,
    /** The contents of the clusters, by the names of their Shoots. */
    shoots,
    connectionId,
    team,
    server,
    passNow,
    useToken,
    /** Ends faults, and lets the provider accept the connection and its token again. */
    async heal() {
      cloud.admin.clearFaults();
      cloud.admin.addProjectToken(PROJECT_TOKEN);
      await useToken(PROJECT_TOKEN);
      await rows.pool.query("UPDATE connection SET phase = 'Ready', verify_at = NULL, verified_at = NULL");
    },
    /** Breaks the next rebuilds of a server, or with null all of them. */
    breakRebuild: (serverId: number, effect: FaultRule['effect'], times: number | null = 1) =>
      void cloud.admin.addFaults({
        match: { method: 'POST', path: `/v1/servers/${serverId}/actions/rebuild` },
        times,
        effect,
      }),
    /** Makes a server at the provider, and the acknowledged intent to adopt it. */
    async acknowledge(options: ServerOptions = {}) {
      const made = cloud.admin.addServer(PROJECT_TOKEN, options);
      const { rows: inserted } = await rows.pool.query<{ id: ServerId }>(
        `INSERT INTO adopted_server (team_id, connection_id, server_id, server_type, location, architecture, server_kind, due_at)
         VALUES ($1, $2, $3, $4, $5, $6, 'cloud', clock_timestamp() - interval '1 s') RETURNING id`,
        [
          team.id,
          connectionId,
          made.id,
          made.serverType,
          made.location,
          made.architecture === 'arm' ? 'arm64' : 'amd64',
        ],
      );
      const id = inserted[0]?.id as ServerId;
      await beginOperation(id, 'server.adopt');
      return { id, serverId: made.id };
    },
    /** Acknowledges once more a server that failed, as the API does. */
    async acknowledgeAgain(id: ServerId) {
      await rows.pool.query(
        `UPDATE adopted_server SET phase = 'Adopting', message = '', generation = generation + 1, image = NULL,
                rebuild_asked_at = NULL, rebuild_action_id = NULL, acknowledged_at = clock_timestamp() WHERE id = $1`,
        [id],
      );
      await beginOperation(id, 'server.adopt');
    },
    /** Asks to detach the server, as the API does. */
    async deregister(id: ServerId) {
      await rows.pool.query(
        `UPDATE adopted_server SET phase = 'Deregistering', deregister_requested_at = clock_timestamp() WHERE id = $1`,
        [id],
      );
      await beginOperation(id, 'server.deregister');
    },
    /** Passes until the server rests, however often that takes. @returns undefined when it was forgotten */
    async untilIdle(id: ServerId) {
      for (let passes = 0; passes < 50; passes += 1) {
        await passNow(id);
        const row = await server(id);
        if (row === undefined || !onTheirWay.includes(row.phase)) return row;
        bootJoined(cloud, shoots, row);
        // It waits for seconds by the provider's clock.
        cloud.admin.advanceClock(2_000);
        aheadMs += 2_000;
      }
      throw new Error(`The server ${id} does not become idle: ${JSON.stringify(await server(id))}`);
    },
    /** Returns the server as the provider has it, with how often it was rebuilt. */
    atProvider(serverId: number) {
      const found = cloud.admin.servers().find((each) => each.id === serverId);
      if (found === undefined) throw new Error(`There is no server ${serverId}.`);
      return found;
    },
    async close() {
      await queue.close();
      await cloud.close();
      await rows.close();
    },
  };
}

export type Servers = Awaited<ReturnType<typeof startServers>>;

/** Boots a server that was rebuilt with join data. */
function bootJoined(cloud: LocalCloud, shoots: FakeShoots, { server_id: serverId }: ServerRow): void {
  const found = cloud.admin.servers().find(({ id }) => id === Number(serverId));
  const shootName = shootIn(found?.userData ?? null);
  const name = /^hostname: (\S+)$/m.exec(found?.userData ?? '')?.[1];
  if (shootName !== null && name !== undefined && shoots.of(shootName).isUp) shoots.register(shootName, name);
}
