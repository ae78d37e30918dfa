import { randomUUID } from 'node:crypto';
import { clusterLimits } from '@corral/contracts';
import { GardenError, type GardenErrorKind } from '@corral/garden';
import { createMetrics } from '@corral/service';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { buildApp } from '../../src/build-app.js';
import { aPool } from '../support/a-cluster.js';
import { checkedClient } from '../support/checked-client.js';
import { addConnection, declare, runningCluster, showConditions } from '../support/clusters.js';
import { fakeGarden } from '../support/fake-garden.js';
import { type FakeProvider, fakeProvider } from '../support/fake-provider.js';
import { claimsOf } from '../support/given-servers.js';
import { recordedLog } from '../support/recorded-log.js';
import { PUBLIC_URL, startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

const features = { config: { gardenFeatures: new Set(['adopted-nodes'] as const) } };
const garden = fakeGarden();
const { joinData, endJoin } = garden.nodes;
let provider: FakeProvider;
let t: TestClusterApi;
let team: TestTeam;
let serverID: number;
let lastServer = 100;

beforeAll(async () => {
  provider = fakeProvider();
  t = await startClusterApi({ garden, ...features, deps: { projects: provider.projects } });
});
afterAll(async () => {
  await t.close();
  provider.close();
});
beforeEach(async () => {
  garden.failure = null;
  garden.joinTokens.clear();
  Object.assign(garden.nodes, { joinData, endJoin });
  team = await t.createTeam(`t-${randomUUID().slice(0, 8)}`);
  await addConnection(t, team);
  lastServer += 1;
  serverID = lastServer;
});

const own = (maximum = 1) =>
  aPool({ name: 'own', source: 'dedicated', machineType: 'ax42', minimum: maximum, maximum });
const serversPath = (rest = '', of = team) => of.path(`/connections/main/adopted-servers/${rest}`);
const adopt = (more: object = {}, acknowledge: unknown = { confirm: 'WIPE' }, api = t, of = team) =>
  api.api
    .as(of.admin)
    .post(serversPath('', of))
    .send({
      spec: {
        serverID,
        serverType: 'ax42',
        location: 'fsn1-dc14',
        architecture: 'amd64',
        serverKind: 'dedicated',
        ...more,
      },
      acknowledge,
    });
const ask = (id: number | string = serverID, user = team.admin) =>
  t.api.as(user).post(serversPath(`${id}/join-command/`));
const row = () => t.db.adoptedServer.findFirstOrThrow({ where: { teamId: team.id, serverId: serverID } });
const update = (data: object) =>
  t.db.adoptedServer.updateMany({ where: { teamId: team.id, serverId: serverID }, data });
/** Writes what the first pass writes once the cluster accepts nodes. */
const expected = async (api = t, of = team) => {
  await api.pool.query(
    `UPDATE adopted_server SET phase = 'Joining', generation = generation + 1, node_name = 'dedicated-' || server_id, due_at = NULL,
            member_of_id = (SELECT cluster_id FROM node_pool WHERE id = node_pool_id) WHERE team_id = $1`,
    [of.id],
  );
};
/** Prepares a machine that may join the cluster `web`. */
const joining = async (api = t, of = team) => {
  await adopt({}, undefined, api, of).expect(202);
  await runningCluster(api, of, 'web', { nodePools: [aPool(), own()] });
  await expected(api, of);
  api.wakeups.length = 0;
};
const entries = () =>
  t.db.auditEntry.findMany({ where: { teamId: team.id, action: 'server.join_command' }, orderBy: { id: 'asc' } });
const issued = async () => (await entries()).map(({ detail }) => (detail as { issued?: boolean }).issued);

async function expectRefused(code: string, status: number, said: string | RegExp = ''): Promise<void> {
  const { body } = await ask().expect(status);
  expect([body.code, body.detail]).toEqual([code, expect.stringMatching(said)]);
  expect(await entries()).toEqual([]);
  expect(garden.joinTokens.size).toBe(0);
}

describe('the adoption of a machine that joins by command', () => {
  it.each(['dedicated', 'onprem'])('is accepted for the kind %s without calling the provider', async (serverKind) => {
    const reads = provider.reads();

    const { body, headers } = await adopt({ serverKind, location: 'the cellar' }).expect(202);

    expect(provider.reads()).toBe(reads);

    expect(body).toMatchObject({
      metadata: { name: String(serverID), serverID },
      spec: { serverKind, serverType: 'ax42', location: 'the cellar' },
      status: { phase: 'Adopting', claimedBy: null },
    });
    const operation = await t.api.as(team.member).get(new URL(headers['operation-location'] as string).pathname);
    expect(operation.body).toMatchObject({ kind: 'server.adopt', state: 'queued' });
  });

  it('requires the same acknowledgement', async () => {
    const { body } = await adopt({}, { confirm: 'JOIN' }).expect(422);

    expect(body.code).toBe('acknowledgement_required');
    expect(await t.db.adoptedServer.count({ where: { teamId: team.id } })).toBe(0);
  });

  it('is refused with a type that is too long for a node pool', async () => {
    const { body } = await adopt({ serverType: 'x'.repeat(21) }).expect(422);

    expect(body).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/spec/serverType' }] });
    await adopt({ serverType: 'x'.repeat(20) }).expect(202);
  });

  it('works over a connection with a rejected token', async () => {
    await t.db.connection.updateMany({ where: { teamId: team.id }, data: { phase: 'Rejected' } });

    await adopt().expect(202);
  });

  it('is the same operation for a repeated request', async () => {
    const first = await adopt().expect(202);

    expect((await adopt().expect(202)).body.status.operationId).toBe(first.body.status.operationId);
    expect((await adopt({ location: 'hel1' }).expect(409)).body.code).toBe('server_claimed');
  });

  it('may use the id of another team’s machine or of a cloud server', async () => {
    await adopt().expect(202);

    await adopt({}, undefined, t, await another()).expect(202);

    const token = randomUUID().repeat(2);
    provider.put(token, { id: serverID, serverType: 'ax42', location: 'fsn1-dc14' });
    const [owner, late] = [await another(token), await another(token)];
    await adopt({ serverKind: 'cloud' }, undefined, t, owner).expect(202);
    expect((await adopt({ serverKind: 'cloud' }, undefined, t, late).expect(409)).body.code).toBe('server_claimed');
  });

  it('uses an id once per team, over all connections', async () => {
    await addConnection(t, team, { ref: 'other' });
    await adopt().expect(202);

    const other = team.path('/connections/other/adopted-servers/');
    const spec = { serverID, serverType: 'ax42', location: 'x', architecture: 'amd64', serverKind: 'onprem' };
    const body = { spec, acknowledge: { confirm: 'WIPE' } };
    expect((await t.api.as(team.admin).post(other).send(body).expect(409)).body.code).toBe('server_claimed');
  });

  it('lets only pools of its source claim the machine, immediately', async () => {
    await adopt().expect(202);

    await declare(t, team, 'web', { nodePools: [aPool(), own()] });

    expect(await claimsOf(t, team, 'web')).toEqual([serverID]);
    const pooled = { ...own(), name: 'pooled', source: 'pooled' };
    const put = t.api.as(team.member).put(team.path('/clusters/web/node-pools/pooled/')).send({ spec: pooled });
    expect((await put.expect(422)).body.code).toBe('invalid_node_pool');
  });

  it('makes the cost of its cluster unknown', async () => {
    await adopt().expect(202);
    await declare(t, team, 'web', { nodePools: [aPool(), own()] });

    const { body } = await t.api.as(team.member).get(team.path('/clusters/web/')).expect(200);

    expect(body.status.cost.items[1].reason).toBe('The price of dedicated machines is unknown.');
  });

  it('can be cancelled by deregistering while no pool claims the machine', async () => {
    await adopt().expect(202);

    await t.api
      .as(team.admin)
      .delete(serversPath(`${serverID}/`))
      .expect(204);

    expect(await row()).toMatchObject({ phase: 'Deregistering' });
  });

  it('cannot be undone while the machine is a node, even when the token is rejected', async () => {
    await joining();
    await t.db.connection.updateMany({ where: { teamId: team.id }, data: { phase: 'Rejected' } });
    await update({ nodePoolId: null, phase: 'Leaving' });

    expect(
      (
        await t.api
          .as(team.admin)
          .delete(serversPath(`${serverID}/`))
          .expect(409)
      ).body.code,
    ).toBe('server_claimed');
  });

  it('does not prevent a token of another project', async () => {
    await adopt().expect(202);
    const put = t.api
      .as(team.admin)
      .put(team.path('/connections/main/'))
      .send({ spec: { provider: 'hcloud', token: randomUUID() } });

    await put.expect(200);
  });
});

/** Creates a further team with a connection. */
const another = async (token = randomUUID().repeat(2)): Promise<TestTeam> => {
  const made = await t.createTeam(`t-${randomUUID().slice(0, 8)}`);
  const spec = { provider: 'hcloud', token };
  await t.api.as(made.admin).put(made.path('/connections/main/')).send({ spec }).expect(201);
  return made;
};

describe('POST …/adopted-servers/{server_id}/join-command/', () => {
  it('answers a command that is valid for 15 minutes and must not be cached', async () => {
    await joining();
    const before = Date.now();

    const { body, headers } = await ask().expect(200);

    expect(headers['cache-control']).toBe('no-store');
    const nodeName = `dedicated-${serverID}`;
    expect(body).toEqual({
      joinCommand: expect.any(String),
      nodeName,
      cluster: 'web',
      expiresAt: expect.stringMatching(/:\d\d\.000Z$/),
    });
    const token = garden.joinTokens.get(nodeName) as string;
    expect(body.joinCommand).toContain(Buffer.from(token).toString('base64'));
    expect(body.joinCommand).toContain(`hostnamectl set-hostname ${nodeName}`);
    const seconds = (Date.parse(body.expiresAt) - before) / 1_000;
    expect(seconds).toBeGreaterThan(890);
    expect(seconds).toBeLessThan(960);
  });

  it('restarts the wait for the machine and wakes the reconciler', async () => {
    await joining();
    const before = await row();

    await ask().expect(200);

    const { id, dueAt, begunAt, generation } = await row();
    expect(dueAt).not.toBeNull();
    expect(begunAt.getTime()).toBeGreaterThan(before.begunAt.getTime());
    // A pass that is about to conclude that the machine has joined must check again, because of the new token.
    expect(generation).toBe(before.generation + 1);
    expect(t.wakeups).toEqual([{ job: 'reconcile-server', payload: { serverId: id } }]);
  });

  it('answers a new token each time, with an audit entry for each', async () => {
    await joining();

    const [first, second] = [(await ask().expect(200)).body, (await ask().expect(200)).body];

    expect(second.joinCommand).not.toBe(first.joinCommand);
    expect(await entries()).toMatchObject(
      [first, second].map(({ expiresAt }) => ({
        userId: team.admin.id,
        targetKind: 'AdoptedServer',
        targetName: String(serverID),
        detail: { cluster: 'web', nodeName: `dedicated-${serverID}`, issued: true, expiresAt },
      })),
    );
  });

  it('is in the audit log before there is a token', async () => {
    await joining();
    let found: unknown;
    garden.nodes.joinData = async (...of) => {
      found = await issued();
      return joinData(...of);
    };

    await ask().expect(200);

    expect(found).toEqual([undefined]);
  });

  it('stores the token neither in the database nor in the log', async () => {
    const { log, text } = recordedLog();
    const talkative = await startClusterApi({ garden, log, ...features });
    try {
      await addConnection(talkative, talkative.acme);
      await joining(talkative, talkative.acme);
      const path = serversPath(`${serverID}/join-command/`, talkative.acme);
      await talkative.api.as(talkative.acme.admin).post(path).expect(200);

      const token = garden.joinTokens.get(`dedicated-${serverID}`) as string;
      const { rows } = await talkative.pool.query<{ dump: string }>(
        `SELECT query_to_xml('SELECT * FROM audit_entry', true, true, '')::text
             || query_to_xml('SELECT * FROM adopted_server', true, true, '')::text
             || query_to_xml('SELECT * FROM operation', true, true, '')::text AS dump`,
      );
      await waitFor('the request in the log', async () => (await text()).includes('/join-command/'));
      const logged = await text();
      for (const secret of [token, ...token.split('.'), Buffer.from(token).toString('base64')]) {
        expect(`${rows[0]?.dump}${logged}`).not.toContain(secret);
      }
    } finally {
      await talkative.close();
    }
  });

  it('is for administrators and the team’s own servers only', async () => {
    await joining();
    const stranger = await another();

    expect((await ask(serverID, team.member).expect(403)).body.code).toBe('permission_denied');
    await t.api
      .as(stranger.admin)
      .post(serversPath(`${serverID}/join-command/`))
      .expect(404);
    await t.api
      .as(stranger.admin)
      .post(serversPath(`${serverID}/join-command/`, stranger))
      .expect(404);
    await t.api
      .as(team.admin)
      .post(team.path(`/connections/other/adopted-servers/${serverID}/join-command/`))
      .expect(404);
    await ask(serverID + 1_000).expect(404);
    await ask('none').expect(404);
    expect(await entries()).toEqual([]);
    expect(garden.joinTokens.size).toBe(0);
  });

  it('is refused for cloud servers, which are rebuilt', async () => {
    await joining();
    await update({ serverKind: 'cloud' });

    await expectRefused('server_not_joining', 409, /rebuilt as a node automatically/);
  });

  it('is refused while no node pool claims the machine', async () => {
    await adopt().expect(202);

    await expectRefused('server_not_joining', 409, /No node pool uses the server/);
  });

  it('is refused before the membership is stored', async () => {
    await joining();
    await update({ phase: 'Adopting', memberOfId: null, nodeName: null });

    await expectRefused('server_not_joining', 409, /in a moment/);
  });

  it('is refused while the machine still belongs to another cluster', async () => {
    await joining();
    await runningCluster(t, team, 'shop');
    const { id } = await t.db.cluster.findFirstOrThrow({ where: { teamId: team.id, name: 'shop' } });
    await update({ memberOfId: id });

    await expectRefused('server_not_joining', 409);
  });

  it.each([
    ['Joined', /already a node/],
    ['Leaving', /wipe the machine/],
    ['Failed', /The machine did not become a node within 168 hours/],
    ['Deregistering', /being deregistered/],
  ])('is refused for a server in phase %s', async (phase, said) => {
    await joining();
    await update({ phase, message: 'The machine did not become a node within 168 hours.' });

    await expectRefused('server_not_joining', 409, said);
  });

  it.each<[string, string, () => Promise<unknown>]>([
    ['is being deleted', 'cluster_deleting', () => clusterUpdate({ deletionRequestedAt: new Date() })],
    [
      'is hibernated',
      'cluster_not_ready',
      () => t.pool.query(`UPDATE cluster SET spec = spec || '{"hibernated": true}' WHERE team_id = $1`, [team.id]),
    ],
    ['does not answer', 'cluster_not_ready', () => showConditions(t, team, 'web', { ControlPlaneReady: 'False' })],
    [
      'has no namespace on the garden yet',
      'cluster_not_ready',
      () => t.db.team.update({ where: { id: team.id }, data: { projectNamespace: null } }),
    ],
  ])('is refused while the cluster %s', async (_what, code, given) => {
    await joining();
    await given();

    await expectRefused(code, 409);
  });
  const clusterUpdate = (data: object) => t.db.cluster.updateMany({ where: { teamId: team.id }, data });

  it('is refused when the garden lost the feature', async () => {
    await joining();
    const { body } = await withoutFeature((api) => api.post(serversPath(`${serverID}/join-command/`)).expect(422));

    expect(body.code).toBe('unsupported_by_garden');
    expect(await entries()).toEqual([]);
  });

  it.each<[GardenErrorKind, string, number, boolean | undefined]>([
    ['unreachable', 'upstream_unavailable', 502, false],
    ['throttled', 'upstream_unavailable', 502, false],
    ['uncertain', 'upstream_unavailable', 502, undefined],
    ['unusable', 'upstream_unavailable', 502, undefined],
    ['not_found', 'cluster_not_ready', 409, false],
  ])(
    'answers the garden error %s with %s and records the outcome in the audit log',
    async (kind, code, status, what) => {
      await joining();
      garden.failure = new GardenError(kind, 'create shoot secrets: a secret detail', { fromShoot: true });

      const { body } = await ask().expect(status);

      expect(body.code).toBe(code);
      expect(JSON.stringify(body)).not.toContain('secret detail');
      expect(await issued()).toEqual([what]);
    },
  );

  it('deletes the token and is refused when the machine was released meanwhile', async () => {
    await joining();
    garden.nodes.joinData = async (...of) => {
      const made = await joinData(...of);
      await update({ nodePoolId: null });
      return made;
    };

    const { body } = await ask().expect(409);

    expect(body.code).toBe('server_not_joining');
    expect(garden.joinTokens.size).toBe(0);
    expect(await issued()).toEqual([false]);
  });

  it('answers concurrent requests without deleting tokens', async () => {
    await joining();
    let ended = 0;
    garden.nodes.endJoin = async () => {
      ended += 1;
    };

    const answers = await Promise.all([ask(), ask(), ask()]);

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(ended).toBe(0);
    expect(await issued()).toEqual([true, true, true]);
  });

  it(`is issued ${clusterLimits.joinCommandsPerServerPerHour} times per hour and server`, async () => {
    await joining();
    for (let times = 0; times < clusterLimits.joinCommandsPerServerPerHour; times += 1) await ask().expect(200);

    const { body, headers } = await ask().expect(429);

    expect(body.code).toBe('rate_limit_exceeded');
    expect(Number(headers['retry-after'])).toBeGreaterThan(3_000);
    await t.pool.query("UPDATE audit_entry SET created_at = created_at - interval '1 hour' WHERE team_id = $1", [
      team.id,
    ]);
    await ask().expect(200);
  });

  async function withoutFeature<T>(work: (api: ReturnType<TestClusterApi['api']['as']>) => Promise<T>): Promise<T> {
    const config = { ...t.deps.config, gardenFeatures: new Set<never>() };
    const app = buildApp({ ...t.deps, config, metrics: createMetrics({ service: 'test' }) });
    return work(checkedClient(app, PUBLIC_URL).as(team.admin));
  }
});
