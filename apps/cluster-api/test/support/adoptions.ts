import { randomUUID } from 'node:crypto';
import type { TokenVerdict } from '@corral/contracts';
import { expect } from '@jest/globals';
import { fakeProvider } from './fake-provider.js';
import { startClusterApi, type TestTeam } from './start-cluster-api.js';

export const WIPE = { confirm: 'WIPE' };

let lastServer = 1_000;

/** A cluster API in front of a provider, and calls about the adopted servers of one team. `reset` before each test. */
export async function startAdoptions() {
  const at = {
    /** What the provider says about every token. */
    verdict: 'valid' as TokenVerdict,
    team: undefined as unknown as TestTeam,
    /** The token of the connection `main`. */
    token: '',
    /** A server in its project. */
    serverID: 0,
  };
  const provider = fakeProvider();
  const t = await startClusterApi({
    config: { adoptedServersPerTeam: 3 },
    deps: { projects: provider.projects, verifyToken: async () => at.verdict },
  });

  const put = (of: TestTeam, ref: string, made: string) =>
    of.asAdmin.put(`/connections/${ref}/`).send({ spec: { provider: 'hcloud', token: made } });
  const connect = async (of: TestTeam, ref = 'main'): Promise<string> => {
    const made = randomUUID().repeat(2);
    await put(of, ref, made).expect(201);
    return made;
  };
  const aServer = (more: object = {}, of = at.token): number => {
    lastServer += 1;
    provider.put(of, { id: lastServer, ...more });
    return lastServer;
  };
  const path = (id?: number | string, ref = 'main') =>
    at.team.path(`/connections/${ref}/adopted-servers/${id === undefined ? '' : `${id}/`}`);
  const spec = (more: object = {}) => ({
    serverID: at.serverID,
    serverType: 'cx22',
    location: 'hel1',
    architecture: 'amd64',
    serverKind: 'cloud',
    ...more,
  });
  const rows = () => t.db.adoptedServer.findMany({ where: { teamId: at.team.id } });
  const operations = async () =>
    (await t.db.operation.findMany({ where: { teamId: at.team.id }, orderBy: { createdAt: 'asc' } })).map(
      ({ kind, state, generation }) => `${kind} ${state} ${generation}`,
    );
  const audit = async () =>
    (await t.db.auditEntry.findMany({ where: { teamId: at.team.id }, orderBy: { id: 'asc' } }))
      .map(({ action }) => action)
      .filter((action) => action.startsWith('server.'));

  return Object.assign(at, {
    t,
    provider,
    connect,
    put,
    aServer,
    path,
    spec,
    rows,
    operations,
    audit,
    async reset(): Promise<void> {
      at.verdict = 'valid';
      provider.answerAll(null);
      at.team = await t.createTeam();
      at.token = await connect(at.team);
      at.serverID = aServer();
      t.wakeups.length = 0;
    },
    async close(): Promise<void> {
      await t.close();
      provider.close();
    },
    adopt: (more: object = {}, acknowledge: unknown = WIPE) =>
      t.api
        .as(at.team.admin)
        .post(path())
        .send({ spec: spec(more), acknowledge }),
    remove: (id: number | string = at.serverID) => t.api.as(at.team.admin).delete(path(id)),
    get: (id: number | string = at.serverID) => t.api.as(at.team.member).get(path(id)),
    async expectNothingWritten(): Promise<void> {
      expect([await rows(), await operations(), await audit(), t.wakeups]).toEqual([[], [], [], []]);
    },
    setPhase: (phase: string) =>
      t.pool.query('UPDATE adopted_server SET phase = $2 WHERE server_id = $1', [at.serverID, phase]),
    endOperations: (state: string) =>
      t.pool.query('UPDATE operation SET state = $2::operation_state WHERE team_id = $1', [at.team.id, state]),
    /** Lets the node pool `metal` of the cluster `shop` claim the team's server. */
    async claimByPool(): Promise<void> {
      const connection = await t.db.connection.findFirstOrThrow({ where: { teamId: at.team.id } });
      const cluster = await t.db.cluster.create({
        data: { teamId: at.team.id, name: 'shop', connectionId: connection.id, spec: {}, desiredHash: 'h' },
      });
      const pool = await t.db.nodePool.create({
        data: {
          teamId: at.team.id,
          clusterId: cluster.id,
          name: 'metal',
          position: 0,
          source: 'pooled',
          machineType: 'cx22',
          image: {},
          minimum: 0,
          maximum: 1,
          publicIp: true,
        },
      });
      await t.db.adoptedServer.updateMany({ where: { teamId: at.team.id }, data: { nodePoolId: pool.id } });
    },
  });
}
export type Adoptions = Awaited<ReturnType<typeof startAdoptions>>;
