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
import { claimsOf } from '../support/given-servers.js';
import { features, type Machines, own, startMachines } from '../support/machines.js';
import { recordedLog } from '../support/recorded-log.js';
import { PUBLIC_URL, startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

let at: Machines;

beforeAll(async () => {
  at = await startMachines();
});

afterAll(() => at.close());

describe('the adoption of a machine that joins by command', () => {
  beforeEach(() => at.reset());
  it.each(['dedicated', 'onprem'])('is accepted for the kind %s without calling the provider', async (serverKind) => {
    const reads = at.provider.reads();

    const { body, headers } = await at.adopt({ serverKind, location: 'the cellar' }).expect(202);

    expect(at.provider.reads()).toBe(reads);

    expect(body).toMatchObject({
      metadata: { name: String(at.serverID), serverID: at.serverID },
      spec: { serverKind, serverType: 'ax42', location: 'the cellar' },
      status: { phase: 'Adopting', claimedBy: null },
    });
    const operation = await at.t.api.as(at.team.member).get(new URL(headers['operation-location'] as string).pathname);
    expect(operation.body).toMatchObject({ kind: 'server.adopt', state: 'queued' });
  });

  it('requires the same acknowledgement', async () => {
    const { body } = await at.adopt({}, { confirm: 'JOIN' }).expect(422);

    expect(body.code).toBe('acknowledgement_required');
    expect(await at.t.db.adoptedServer.count({ where: { teamId: at.team.id } })).toBe(0);
  });

  it('is refused with a type that is too long for a node pool', async () => {
    const { body } = await at.adopt({ serverType: 'x'.repeat(21) }).expect(422);

    expect(body).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/spec/serverType' }] });
    await at.adopt({ serverType: 'x'.repeat(20) }).expect(202);
  });

  it('works over a connection with a rejected token', async () => {
    await at.t.db.connection.updateMany({ where: { teamId: at.team.id }, data: { phase: 'Rejected' } });

    await at.adopt().expect(202);
  });

  it('is the same operation for a repeated request', async () => {
    const first = await at.adopt().expect(202);

    expect((await at.adopt().expect(202)).body.status.operationId).toBe(first.body.status.operationId);
    expect((await at.adopt({ location: 'hel1' }).expect(409)).body.code).toBe('server_claimed');
  });

  it('may use the id of another team’s machine or of a cloud server', async () => {
    await at.adopt().expect(202);

    await at.adopt({}, undefined, at.t, await at.another()).expect(202);

    const token = randomUUID().repeat(2);
    at.provider.put(token, { id: at.serverID, serverType: 'ax42', location: 'fsn1-dc14' });
    const [owner, late] = [await at.another(token), await at.another(token)];
    await at.adopt({ serverKind: 'cloud' }, undefined, at.t, owner).expect(202);
    expect((await at.adopt({ serverKind: 'cloud' }, undefined, at.t, late).expect(409)).body.code).toBe(
      'server_claimed',
    );
  });

  it('uses an id once per team, over all connections', async () => {
    await addConnection(at.t, at.team, { ref: 'other' });
    await at.adopt().expect(202);

    const other = at.team.path('/connections/other/adopted-servers/');
    const spec = {
      serverID: at.serverID,
      serverType: 'ax42',
      location: 'x',
      architecture: 'amd64',
      serverKind: 'onprem',
    };
    const body = { spec, acknowledge: { confirm: 'WIPE' } };
    expect((await at.t.api.as(at.team.admin).post(other).send(body).expect(409)).body.code).toBe('server_claimed');
  });

  it('lets only pools of its source claim the machine, immediately', async () => {
    await at.adopt().expect(202);

    await declare(at.t, at.team, 'web', { nodePools: [aPool(), own()] });

    expect(await claimsOf(at.t, at.team, 'web')).toEqual([at.serverID]);
    const pooled = { ...own(), name: 'pooled', source: 'pooled' };
    const put = at.t.api
      .as(at.team.member)
      .put(at.team.path('/clusters/web/node-pools/pooled/'))
      .send({ spec: pooled });
    expect((await put.expect(422)).body.code).toBe('invalid_node_pool');
  });

  it('makes the cost of its cluster unknown', async () => {
    await at.adopt().expect(202);
    await declare(at.t, at.team, 'web', { nodePools: [aPool(), own()] });

    const { body } = await at.t.api.as(at.team.member).get(at.team.path('/clusters/web/')).expect(200);

    expect(body.status.cost.items[1].reason).toBe('The price of dedicated machines is unknown.');
  });

  it('can be cancelled by deregistering while no pool claims the machine', async () => {
    await at.adopt().expect(202);

    await at.t.api
      .as(at.team.admin)
      .delete(at.serversPath(`${at.serverID}/`))
      .expect(204);

    expect(await at.row()).toMatchObject({ phase: 'Deregistering' });
  });

  it('cannot be undone while the machine is a node, even when the token is rejected', async () => {
    await at.joining();
    await at.t.db.connection.updateMany({ where: { teamId: at.team.id }, data: { phase: 'Rejected' } });
    await at.update({ nodePoolId: null, phase: 'Leaving' });

    expect(
      (
        await at.t.api
          .as(at.team.admin)
          .delete(at.serversPath(`${at.serverID}/`))
          .expect(409)
      ).body.code,
    ).toBe('server_claimed');
  });

  it('does not prevent a token of another project', async () => {
    await at.adopt().expect(202);
    const put = at.t.api
      .as(at.team.admin)
      .put(at.team.path('/connections/main/'))
      .send({ spec: { provider: 'hcloud', token: randomUUID() } });

    await put.expect(200);
  });
});

describe('POST …/adopted-servers/{server_id}/join-command/', () => {
  beforeEach(() => at.reset());

  const ask = (id: number | string = at.serverID, user = at.team.admin) =>
    at.t.api.as(user).post(at.serversPath(`${id}/join-command/`));
  const entries = () =>
    at.t.db.auditEntry.findMany({
      where: { teamId: at.team.id, action: 'server.join_command' },
      orderBy: { id: 'asc' },
    });
  const issued = async () => (await entries()).map(({ detail }) => (detail as { issued?: boolean }).issued);

  async function expectRefused(code: string, status: number, said: string | RegExp = ''): Promise<void> {
    const { body } = await ask().expect(status);
    expect([body.code, body.detail]).toEqual([code, expect.stringMatching(said)]);
    expect(await entries()).toEqual([]);
    expect(at.garden.joinTokens.size).toBe(0);
  }
  it('answers a command that is valid for 15 minutes and must not be cached', async () => {
    await at.joining();
    const before = Date.now();

    const { body, headers } = await ask().expect(200);

    expect(headers['cache-control']).toBe('no-store');
    const nodeName = `dedicated-${at.serverID}`;
    expect(body).toEqual({
      joinCommand: expect.any(String),
      nodeName,
      cluster: 'web',
      expiresAt: expect.stringMatching(/:\d\d\.000Z$/),
    });
    const token = at.garden.joinTokens.get(nodeName) as string;
    expect(body.joinCommand).toContain(Buffer.from(token).toString('base64'));
    expect(body.joinCommand).toContain(`hostnamectl set-hostname ${nodeName}`);
    const seconds = (Date.parse(body.expiresAt) - before) / 1_000;
    expect(seconds).toBeGreaterThan(890);
    expect(seconds).toBeLessThan(960);
  });

  it('restarts the wait for the machine and wakes the reconciler', async () => {
    await at.joining();
    const before = await at.row();

    await ask().expect(200);

    const { id, dueAt, begunAt, generation } = await at.row();
    expect(dueAt).not.toBeNull();
    expect(begunAt.getTime()).toBeGreaterThan(before.begunAt.getTime());
    // A pass that is about to conclude that the machine has joined must check again, because of the new token.
    expect(generation).toBe(before.generation + 1);
    expect(at.t.wakeups).toEqual([{ job: 'reconcile-server', payload: { serverId: id } }]);
  });

  it('answers a new token each time, with an audit entry for each', async () => {
    await at.joining();

    const [first, second] = [(await ask().expect(200)).body, (await ask().expect(200)).body];

    expect(second.joinCommand).not.toBe(first.joinCommand);
    expect(await entries()).toMatchObject(
      [first, second].map(({ expiresAt }) => ({
        userId: at.team.admin.id,
        targetKind: 'AdoptedServer',
        targetName: String(at.serverID),
        detail: { cluster: 'web', nodeName: `dedicated-${at.serverID}`, issued: true, expiresAt },
      })),
    );
  });

  it('is in the audit log before there is a token', async () => {
    await at.joining();
    let found: unknown;
    at.garden.nodes.joinData = async (...of) => {
      found = await issued();
      return at.joinData(...of);
    };

    await ask().expect(200);

    expect(found).toEqual([undefined]);
  });

  it('stores the token neither in the database nor in the log', async () => {
    const { log, text } = recordedLog();
    const talkative = await startClusterApi({ garden: at.garden, log, ...features });
    try {
      await addConnection(talkative, talkative.acme);
      await at.joining(talkative, talkative.acme);
      const path = at.serversPath(`${at.serverID}/join-command/`, talkative.acme);
      await talkative.api.as(talkative.acme.admin).post(path).expect(200);

      const token = at.garden.joinTokens.get(`dedicated-${at.serverID}`) as string;
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
    await at.joining();
    const stranger = await at.another();

    expect((await ask(at.serverID, at.team.member).expect(403)).body.code).toBe('permission_denied');
    await at.t.api
      .as(stranger.admin)
      .post(at.serversPath(`${at.serverID}/join-command/`))
      .expect(404);
    await at.t.api
      .as(stranger.admin)
      .post(at.serversPath(`${at.serverID}/join-command/`, stranger))
      .expect(404);
    await at.t.api
      .as(at.team.admin)
      .post(at.team.path(`/connections/other/adopted-servers/${at.serverID}/join-command/`))
      .expect(404);
    await ask(at.serverID + 1_000).expect(404);
    await ask('none').expect(404);
    expect(await entries()).toEqual([]);
    expect(at.garden.joinTokens.size).toBe(0);
  });

  it('is refused for cloud servers, which are rebuilt', async () => {
    await at.joining();
    await at.update({ serverKind: 'cloud' });

    await expectRefused('server_not_joining', 409, /rebuilt as a node automatically/);
  });

  it('is refused while no node pool claims the machine', async () => {
    await at.adopt().expect(202);

    await expectRefused('server_not_joining', 409, /No node pool uses the server/);
  });

  it('is refused before the membership is stored', async () => {
    await at.joining();
    await at.update({ phase: 'Adopting', memberOfId: null, nodeName: null });

    await expectRefused('server_not_joining', 409, /in a moment/);
  });

  it('is refused while the machine still belongs to another cluster', async () => {
    await at.joining();
    await runningCluster(at.t, at.team, 'shop');
    const { id } = await at.t.db.cluster.findFirstOrThrow({ where: { teamId: at.team.id, name: 'shop' } });
    await at.update({ memberOfId: id });

    await expectRefused('server_not_joining', 409);
  });

  it.each([
    ['Joined', /already a node/],
    ['Leaving', /wipe the machine/],
    ['Failed', /The machine did not become a node within 168 hours/],
    ['Deregistering', /being deregistered/],
  ])('is refused for a server in phase %s', async (phase, said) => {
    await at.joining();
    await at.update({ phase, message: 'The machine did not become a node within 168 hours.' });

    await expectRefused('server_not_joining', 409, said);
  });

  it.each<[string, string, () => Promise<unknown>]>([
    ['is being deleted', 'cluster_deleting', () => clusterUpdate({ deletionRequestedAt: new Date() })],
    [
      'is hibernated',
      'cluster_not_ready',
      () =>
        at.t.pool.query(`UPDATE cluster SET spec = spec || '{"hibernated": true}' WHERE team_id = $1`, [at.team.id]),
    ],
    [
      'does not answer',
      'cluster_not_ready',
      () => showConditions(at.t, at.team, 'web', { ControlPlaneReady: 'False' }),
    ],
    [
      'has no namespace on the garden yet',
      'cluster_not_ready',
      () => at.t.db.team.update({ where: { id: at.team.id }, data: { projectNamespace: null } }),
    ],
  ])('is refused while the cluster %s', async (_what, code, given) => {
    await at.joining();
    await given();

    await expectRefused(code, 409);
  });
  const clusterUpdate = (data: object) => at.t.db.cluster.updateMany({ where: { teamId: at.team.id }, data });

  it('is refused when the garden lost the feature', async () => {
    await at.joining();
    const { body } = await withoutFeature((api) =>
      api.post(at.serversPath(`${at.serverID}/join-command/`)).expect(422),
    );

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
      await at.joining();
      at.garden.failure = new GardenError(kind, 'create shoot secrets: a secret detail', { fromShoot: true });

      const { body } = await ask().expect(status);

      expect(body.code).toBe(code);
      expect(JSON.stringify(body)).not.toContain('secret detail');
      expect(await issued()).toEqual([what]);
    },
  );

  it('answers 403 with the words of a policy that refuses it', async () => {
    await at.joining();
    at.garden.failure = new GardenError('refused', 'create shoots/adminkubeconfig', {
      denial: { by: 'no-admins', words: 'Ask first' },
    });

    expect((await ask().expect(403)).body).toMatchObject({
      code: 'permission_denied',
      detail: 'The policy no-admins of the garden refuses access to the cluster: Ask first.',
    });
    expect(await issued()).toEqual([false]);
  });

  it('deletes the token and is refused when the machine was released meanwhile', async () => {
    await at.joining();
    at.garden.nodes.joinData = async (...of) => {
      const made = await at.joinData(...of);
      await at.update({ nodePoolId: null });
      return made;
    };

    const { body } = await ask().expect(409);

    expect(body.code).toBe('server_not_joining');
    expect(at.garden.joinTokens.size).toBe(0);
    expect(await issued()).toEqual([false]);
  });

  it('answers concurrent requests without deleting tokens', async () => {
    await at.joining();
    let ended = 0;
    at.garden.nodes.endJoin = async () => {
      ended += 1;
    };

    const answers = await Promise.all([ask(), ask(), ask()]);

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(ended).toBe(0);
    expect(await issued()).toEqual([true, true, true]);
  });

  it(`is issued ${clusterLimits.joinCommandsPerServerPerHour} times per hour and server`, async () => {
    await at.joining();
    for (let times = 0; times < clusterLimits.joinCommandsPerServerPerHour; times += 1) await ask().expect(200);

    const { body, headers } = await ask().expect(429);

    expect(body.code).toBe('rate_limit_exceeded');
    expect(Number(headers['retry-after'])).toBeGreaterThan(3_000);
    await at.t.pool.query("UPDATE audit_entry SET created_at = created_at - interval '1 hour' WHERE team_id = $1", [
      at.team.id,
    ]);
    await ask().expect(200);
  });

  async function withoutFeature<T>(work: (api: ReturnType<TestClusterApi['api']['as']>) => Promise<T>): Promise<T> {
    const config = { ...at.t.deps.config, gardenFeatures: new Set<never>() };
    const app = buildApp({ ...at.t.deps, config, metrics: createMetrics({ service: 'test' }) });
    return work(checkedClient(app, PUBLIC_URL).as(at.team.admin));
  }
});
