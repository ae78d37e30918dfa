import { randomUUID } from 'node:crypto';
import { aPool } from './a-cluster.js';
import { addConnection, runningCluster } from './clusters.js';
import { fakeGarden } from './fake-garden.js';
import { fakeProvider } from './fake-provider.js';
import { startClusterApi, type TestTeam } from './start-cluster-api.js';

export const features = { config: { gardenFeatures: new Set(['adopted-nodes'] as const) } };

/** A pool on the team's dedicated servers. */
export const own = (maximum = 1) =>
  aPool({ name: 'own', source: 'dedicated', machineType: 'ax42', minimum: maximum, maximum });

let lastServer = 100;

/** A cluster API with a fake garden, and calls about a machine that joins by a command. `reset` before each test. */
export async function startMachines() {
  const garden = fakeGarden();
  const { joinData, endJoin } = garden.nodes;
  const provider = fakeProvider();
  const t = await startClusterApi({ garden, ...features, deps: { projects: provider.projects } });
  const at = { team: undefined as unknown as TestTeam, serverID: 0 };

  const serversPath = (rest = '', of = at.team) => of.path(`/connections/main/adopted-servers/${rest}`);
  const adopt = (more: object = {}, acknowledge: unknown = { confirm: 'WIPE' }, api = t, of = at.team) =>
    api.api
      .as(of.admin)
      .post(serversPath('', of))
      .send({
        spec: {
          serverID: at.serverID,
          serverType: 'ax42',
          location: 'fsn1-dc14',
          architecture: 'amd64',
          serverKind: 'dedicated',
          ...more,
        },
        acknowledge,
      });
  const expected = async (api = t, of = at.team) => {
    await api.pool.query(
      `UPDATE adopted_server SET phase = 'Joining', generation = generation + 1, node_name = 'dedicated-' || server_id, due_at = NULL,
              member_of_id = (SELECT cluster_id FROM node_pool WHERE id = node_pool_id) WHERE team_id = $1`,
      [of.id],
    );
  };

  return Object.assign(at, {
    garden,
    joinData,
    provider,
    t,
    serversPath,
    adopt,
    /** Writes what the first pass writes once the cluster accepts nodes. */
    expected,
    /** Prepares a machine that may join the cluster `web`. */
    async joining(api = t, of = at.team): Promise<void> {
      await adopt({}, undefined, api, of).expect(202);
      await runningCluster(api, of, 'web', { nodePools: [aPool(), own()] });
      await expected(api, of);
      api.wakeups.length = 0;
    },
    row: () => t.db.adoptedServer.findFirstOrThrow({ where: { teamId: at.team.id, serverId: at.serverID } }),
    update: (data: object) =>
      t.db.adoptedServer.updateMany({ where: { teamId: at.team.id, serverId: at.serverID }, data }),
    /** Creates a further team with a connection. */
    async another(token = randomUUID().repeat(2)): Promise<TestTeam> {
      const made = await t.createTeam();
      const spec = { provider: 'hcloud', token };
      await made.asAdmin.put('/connections/main/').send({ spec }).expect(201);
      return made;
    },
    async reset(): Promise<void> {
      garden.failure = null;
      garden.joinTokens.clear();
      Object.assign(garden.nodes, { joinData, endJoin });
      at.team = await t.createTeam();
      await addConnection(t, at.team);
      lastServer += 1;
      at.serverID = lastServer;
    },
    async close(): Promise<void> {
      await t.close();
      provider.close();
    },
  });
}
export type Machines = Awaited<ReturnType<typeof startMachines>>;
