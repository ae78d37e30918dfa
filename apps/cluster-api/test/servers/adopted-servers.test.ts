import { randomUUID } from 'node:crypto';
import type { TokenVerdict } from '@corral/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { declare, runningCluster } from '../support/clusters.js';
import { type FakeProvider, fakeProvider, refused } from '../support/fake-provider.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

let t: TestClusterApi;
let provider: FakeProvider;
let verdict: TokenVerdict;
let team: TestTeam;
let token: string;
let serverID: number;
let lastServer = 1_000;

beforeAll(async () => {
  provider = fakeProvider();
  t = await startClusterApi({
    config: { adoptedServersPerTeam: 3 },
    deps: { projects: provider.projects, verifyToken: async () => verdict },
  });
});
afterAll(async () => {
  await t.close();
  provider.close();
});
beforeEach(async () => {
  verdict = 'valid';
  provider.answerAll(null);
  team = await t.createTeam(`t-${randomUUID().slice(0, 8)}`);
  token = await connect(team);
  serverID = aServer();
  t.wakeups.length = 0;
});

async function connect(of: TestTeam, ref = 'main'): Promise<string> {
  const made = randomUUID().repeat(2);
  await put(of, ref, made).expect(201);
  return made;
}
const put = (of: TestTeam, ref: string, made: string) =>
  t.api
    .as(of.admin)
    .put(of.path(`/connections/${ref}/`))
    .send({ spec: { provider: 'hcloud', token: made } });
function aServer(more: object = {}, of = token): number {
  lastServer += 1;
  provider.put(of, { id: lastServer, ...more });
  return lastServer;
}
const path = (id?: number | string, ref = 'main') =>
  team.path(`/connections/${ref}/adopted-servers/${id === undefined ? '' : `${id}/`}`);
const spec = (more: object = {}) => ({
  serverID,
  serverType: 'cx22',
  location: 'hel1',
  architecture: 'amd64',
  serverKind: 'cloud',
  ...more,
});
const WIPE = { confirm: 'WIPE' };
const adopt = (more: object = {}, acknowledge: unknown = WIPE) =>
  t.api
    .as(team.admin)
    .post(path())
    .send({ spec: spec(more), acknowledge });
const remove = (id: number | string = serverID) => t.api.as(team.admin).delete(path(id));
const get = (id: number | string = serverID) => t.api.as(team.member).get(path(id));
const rows = () => t.db.adoptedServer.findMany({ where: { teamId: team.id } });
const operations = async () =>
  (await t.db.operation.findMany({ where: { teamId: team.id }, orderBy: { createdAt: 'asc' } })).map(
    ({ kind, state, generation }) => `${kind} ${state} ${generation}`,
  );
const audit = async () =>
  (await t.db.auditEntry.findMany({ where: { teamId: team.id }, orderBy: { id: 'asc' } }))
    .map(({ action }) => action)
    .filter((action) => action.startsWith('server.'));
const setPhase = (phase: string) =>
  t.pool.query('UPDATE adopted_server SET phase = $2 WHERE server_id = $1', [serverID, phase]);
const endOperations = (state: string) =>
  t.pool.query('UPDATE operation SET state = $2::operation_state WHERE team_id = $1', [team.id, state]);

async function expectNothingWritten(): Promise<void> {
  expect([await rows(), await operations(), await audit(), t.wakeups]).toEqual([[], [], [], []]);
}

describe('GET …/project-servers/{server_id}/', () => {
  const lookUp = (id: number | string = serverID, user = team.admin) =>
    t.api.as(user).get(team.path(`/connections/main/project-servers/${id}/`));

  it('shows the server with its live name, and writes nothing', async () => {
    const id = aServer({ name: 'db-1', serverType: 'cx32' });

    expect((await lookUp(id).expect(200)).body).toEqual({
      serverID: id,
      name: 'db-1',
      serverType: 'cx32',
      location: 'hel1',
      architecture: 'amd64',
      state: 'running',
      adoptable: true,
      reason: null,
    });
    await expectNothingWritten();
  });

  it('says why a server cannot be adopted', async () => {
    await adopt().expect(202);
    expect((await lookUp().expect(200)).body).toMatchObject({
      adoptable: false,
      reason: 'The server is being adopted.',
    });

    await setPhase('Ready');
    expect((await lookUp().expect(200)).body.reason).toMatch(/already adopted/);
    const node = aServer({ labels: { 'mcm.gardener.cloud/cluster': 'shoot--acme--web' } });
    expect((await lookUp(node).expect(200)).body).toMatchObject({ adoptable: false, reason: expect.any(String) });
    const others = aServer({ labels: { 'corral.dev/claim': 'of-another-adoption' } });
    expect((await lookUp(others).expect(200)).body.reason).toMatch(/remove the label/);
  });

  it('answers 404 for a server that the project does not have', async () => {
    expect((await lookUp(999_999_999).expect(404)).body).toMatchObject({
      code: 'not_found',
      detail: 'The connection’s cloud project has no server with this number. Check the number.',
    });
  });

  it.each([0, 'x', '1e3'])('answers 404 for the invalid number %s', async (id) => {
    expect((await lookUp(id).expect(404)).body).toMatchObject({
      code: 'not_found',
      detail: expect.stringMatching(/path/),
    });
  });

  it('answers 409 with a token that the provider rejects', async () => {
    provider.answerAll([401, refused('unauthorized')]);
    verdict = 'rejected';

    expect((await lookUp().expect(409)).body.code).toBe('connection_rejected');
  });

  it('is for administrators of the team', async () => {
    await lookUp(serverID, team.member).expect(403);
    await lookUp(serverID, t.globex.admin).expect(404);
  });
});

describe('POST …/adopted-servers/', () => {
  it('answers 202 with the server and its operation, and wakes the reconciler', async () => {
    const answer = await adopt().expect(202);

    const [row] = await rows();
    expect(answer.body).toMatchObject({
      kind: 'AdoptedServer',
      metadata: { name: 'web', id: row?.id, serverID, team: team.slug, connectionRef: 'main' },
      spec: spec(),
      status: { phase: 'Adopting', message: '', claimedBy: null, adoptedAt: null, observedAt: null },
    });
    const operation = await t.api.as(team.member).get(new URL(answer.headers['operation-location'] as string).pathname);
    expect(operation.body).toMatchObject({
      id: answer.body.status.operationId,
      kind: 'server.adopt',
      state: 'queued',
      progress: 0,
      target: { kind: 'AdoptedServer', name: String(serverID), id: row?.id },
    });
    expect(answer.headers.location).toBe(path(serverID));
    expect(row).toMatchObject({ acknowledgedBy: team.admin.id, generation: 1, rebuildAskedAt: null, purpose: 'adopt' });
    expect(row?.begunAt).toEqual(row?.acknowledgedAt);
    expect(await audit()).toEqual(['server.adopt']);
    expect(t.wakeups).toEqual([{ job: 'reconcile-server', payload: { serverId: row?.id } }]);
  });

  it('is visible to members, in the list and by id', async () => {
    await adopt().expect(202);

    const { body } = await get().expect(200);
    expect(body.metadata.serverID).toBe(serverID);
    expect((await t.api.as(team.member).get(path())).body).toEqual([{ items: [body] }]);
  });

  it.each([undefined, null, 'WIPE', {}, { confirm: 'wipe' }, { confirm: true }, { confirm: 'WIPE', more: 1 }])(
    'does nothing with the acknowledgement %j',
    async (acknowledge) => {
      const reads = provider.reads();

      const { body } = await t.api.as(team.admin).post(path()).send({ spec: spec(), acknowledge }).expect(422);

      expect([body.code, body.errors[0].pointer]).toEqual(['acknowledgement_required', '/acknowledge']);
      expect(provider.reads()).toBe(reads);
      await expectNothingWritten();
    },
  );

  it.each(['dedicated', 'onprem'])('refuses a server of kind %s when pools cannot use it', async (serverKind) => {
    const { body } = await adopt({ serverKind }).expect(422);

    expect([body.code, body.errors[0].pointer]).toEqual(['unsupported_by_garden', '/spec/serverKind']);
    await expectNothingWritten();
  });

  it('names each field that does not match the server', async () => {
    serverID = aServer({ serverType: 'cax11', location: 'fsn1', architecture: 'arm' });

    const { body } = await adopt().expect(422);

    const code = 'validation_failed';
    expect(body.code).toBe(code);
    expect(body.errors).toEqual([
      {
        pointer: '/spec/serverType',
        code,
        message: 'is cax11 for this server',
        detail: 'spec.serverType is cax11 for this server.',
      },
      {
        pointer: '/spec/location',
        code,
        message: 'is fsn1 for this server',
        detail: 'spec.location is fsn1 for this server.',
      },
      {
        pointer: '/spec/architecture',
        code,
        message: 'is arm64 for this server',
        detail: 'spec.architecture is arm64 for this server.',
      },
    ]);
    await expectNothingWritten();
  });

  it('refuses a server that the project does not have', async () => {
    provider.take(token, serverID);

    const { body } = await adopt().expect(422);

    expect([body.code, body.errors[0].pointer]).toEqual(['validation_failed', '/spec/serverID']);
    await expectNothingWritten();
  });

  it.each([
    ['labelled as the node of a cluster', { 'mcm.gardener.cloud/cluster': 'shoot--x' }],
    ['labelled with the claim of another adoption', { 'corral.dev/claim': 'theirs' }],
  ])('refuses a server that is %s', async (_what, labels) => {
    serverID = aServer({ labels });

    expect((await adopt().expect(409)).body.code).toBe('server_claimed');
    await expectNothingWritten();
  });

  it('refuses a server of another team without revealing its owner', async () => {
    const other = await t.createTeam(`t-${randomUUID().slice(0, 8)}`);
    const otherToken = await connect(other);
    provider.put(otherToken, { id: serverID });
    await t.api
      .as(other.admin)
      .post(other.path('/connections/main/adopted-servers/'))
      .send({ spec: spec(), acknowledge: WIPE })
      .expect(202);
    t.wakeups.length = 0;

    const answer = await adopt().expect(409);

    expect(answer.body.code).toBe('server_claimed');
    expect(answer.text).not.toContain(other.slug);
    await expectNothingWritten();
    // A team without the server in its project does not even learn that it has an owner.
    provider.take(token, serverID);
    expect((await adopt().expect(422)).body.code).toBe('validation_failed');
  });

  it('gives a server to one of two teams that adopt it at the same time', async () => {
    const other = await t.createTeam(`t-${randomUUID().slice(0, 8)}`);
    provider.put(await connect(other), { id: serverID });
    const theirs = () =>
      t.api
        .as(other.admin)
        .post(other.path('/connections/main/adopted-servers/'))
        .send({ spec: spec(), acknowledge: WIPE });

    const statuses = (await Promise.all([adopt(), theirs()])).map(({ status }) => status);

    expect(statuses.sort()).toEqual([202, 409]);
    expect(await t.db.adoptedServer.count({ where: { serverId: serverID } })).toBe(1);
  });

  it.each<[string, number, unknown, number, string]>([
    ['500', 500, refused('server_error'), 502, 'upstream_unavailable'],
    ['429', 429, refused('rate_limit_exceeded'), 502, 'upstream_unavailable'],
    ['a page', 200, '<html>', 502, 'upstream_unavailable'],
    ['401', 401, refused('unauthorized'), 502, 'upstream_unavailable'],
  ])('writes nothing when the provider answers %s', async (_what, status, body, answered, code) => {
    provider.answerAll([status, body]);

    expect((await adopt().expect(answered)).body.code).toBe(code);

    await expectNothingWritten();
  });

  it('reports a rejected token once that is confirmed', async () => {
    provider.answerAll([401, refused('unauthorized')]);
    verdict = 'rejected';

    expect((await adopt().expect(409)).body.code).toBe('connection_rejected');

    await expectNothingWritten();
  });

  it('does not call the provider over a rejected connection', async () => {
    await t.pool.query("UPDATE connection SET phase = 'Rejected' WHERE team_id = $1", [team.id]);
    const reads = provider.reads();

    expect((await adopt().expect(409)).body.code).toBe('connection_rejected');

    expect(provider.reads()).toBe(reads);
  });

  it('applies the quota of the installation or the team’s override', async () => {
    for (let count = 0; count < 3; count += 1) await adopt({ serverID: aServer() }).expect(202);
    expect((await adopt().expect(403)).body.code).toBe('quota_exceeded');

    await t.pool.query('UPDATE team SET adopted_servers_max = 4 WHERE id = $1', [team.id]);

    await adopt().expect(202);
    expect(await rows()).toHaveLength(4);
  });

  it('is for administrators and the team’s own connections only', async () => {
    const send = (user: { cookie: string }, to: string) =>
      t.api
        .as(user as never)
        .post(to)
        .send({ spec: spec(), acknowledge: WIPE });

    expect((await send(team.member, path())).body.code).toBe('permission_denied');
    expect((await send(t.globex.admin, path())).body.code).toBe('not_found');
    expect((await send(team.admin, path(undefined, 'none'))).body.code).toBe('not_found');
    expect((await t.api.as(team.member).delete(path(serverID))).body.code).toBe('permission_denied');
    await expectNothingWritten();
  });
});

describe('a repeated adoption', () => {
  it('returns the running operation without a second intent', async () => {
    const first = await adopt().expect(202);
    provider.answerAll([500, refused('server_error')]);

    const second = await adopt().expect(202);

    expect(second.headers['operation-location']).toBe(first.headers['operation-location']);
    expect(await operations()).toEqual(['server.adopt queued 1']);
    expect(await audit()).toEqual(['server.adopt']);
  });

  it('with the same Idempotency-Key returns the first outcome, whatever the server’s phase', async () => {
    const send = (body: object) =>
      t.api.as(team.admin).post(path()).set('Idempotency-Key', serverID.toString()).send(body);
    const first = await send({ spec: spec(), acknowledge: WIPE }).expect(202);
    await setPhase('Ready');

    const second = await send({ spec: spec(), acknowledge: WIPE }).expect(202);

    expect(second.headers['operation-location']).toBe(first.headers['operation-location']);
    expect(second.body.status.phase).toBe('Ready');
    const other = { ...spec(), serverID: aServer() };
    expect((await send({ spec: other, acknowledge: WIPE }).expect(422)).body.code).toBe('idempotency_key_reused');
    expect(await rows()).toHaveLength(1);
  });

  it('creates one intent for concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => adopt()));

    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202]);
    expect(new Set(answers.map(({ headers }) => headers['operation-location'])).size).toBe(1);
    expect(await operations()).toEqual(['server.adopt queued 1']);
  });

  it('with another specification is refused while the adoption runs', async () => {
    await adopt().expect(202);
    provider.put(token, { id: serverID, serverType: 'cx32' });

    expect((await adopt({ serverType: 'cx32' }).expect(409)).body.code).toBe('server_claimed');
  });

  it.each(['Ready', 'Joining', 'Joined', 'Leaving', 'Missing', 'Deregistering'])(
    'is refused once the server is %s',
    async (phase) => {
      await adopt().expect(202);
      await setPhase(phase);

      expect((await adopt().expect(409)).body.code).toBe('server_claimed');
      expect(await operations()).toHaveLength(1);
    },
  );

  it('creates a new intent after a failure', async () => {
    await adopt().expect(202);
    await setPhase('Failed');
    await endOperations('failed');
    const [before] = await rows();
    provider.put(token, { id: serverID, labels: { 'corral.dev/claim': before?.claimToken as string } });

    const { body } = await adopt().expect(202);

    expect(body.status.phase).toBe('Adopting');
    expect(await operations()).toEqual(['server.adopt failed 1', 'server.adopt queued 2']);
    expect(await rows()).toEqual([
      expect.objectContaining({ id: before?.id, generation: 2, rebuildAskedAt: null, rebuildActionId: null }),
    ]);
    expect(await audit()).toEqual(['server.adopt', 'server.adopt']);
  });
});

describe('a server that failed as a node', () => {
  beforeEach(async () => {
    await adopt().expect(202);
    await endOperations('failed');
    await t.pool.query(
      `UPDATE adopted_server SET phase = 'Failed', purpose = 'join', node_name = 'node', node_ready = true,
              begun_at = '2026-01-01' WHERE server_id = $1`,
      [serverID],
    );
    const [row] = await rows();
    provider.put(token, { id: serverID, labels: { 'corral.dev/claim': row?.claimToken as string } });
  });

  it('cannot be adopted again while a pool claims it', async () => {
    await claimByPool();

    const { body } = await adopt().expect(409);

    expect([body.code, body.detail]).toEqual(['server_claimed', expect.stringMatching(/metal.*shop.*smaller/)]);
    expect(await operations()).toEqual(['server.adopt failed 1']);
  });

  it('can be adopted again once only its node is left, but not deregistered before that is gone', async () => {
    const { body } = await remove().expect(409);
    expect([body.code, body.detail]).toEqual(['server_claimed', expect.stringMatching(/Adopt it again/)]);

    await adopt().expect(202);

    const [row] = await rows();
    expect(row).toMatchObject({
      phase: 'Adopting',
      purpose: 'adopt',
      nodeName: 'node',
      nodeReady: false,
      generation: 2,
      begunAt: row?.acknowledgedAt,
    });
    await remove().expect(409);
  });

  it('can be deregistered when the token is rejected, because it cannot be rebuilt', async () => {
    await t.db.connection.updateMany({ where: { teamId: team.id }, data: { phase: 'Rejected' } });

    await remove().expect(204);

    expect(await rows()).toEqual([expect.objectContaining({ phase: 'Deregistering' })]);
  });
});

/** Lets the node pool `metal` of the cluster `shop` claim the team's server. */
async function claimByPool(): Promise<void> {
  const connection = await t.db.connection.findFirstOrThrow({ where: { teamId: team.id } });
  const cluster = await t.db.cluster.create({
    data: { teamId: team.id, name: 'shop', connectionId: connection.id, spec: {}, desiredHash: 'h' },
  });
  const pool = await t.db.nodePool.create({
    data: {
      teamId: team.id,
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
  await t.db.adoptedServer.updateMany({ where: { teamId: team.id }, data: { nodePoolId: pool.id } });
}

describe('DELETE …/adopted-servers/{server_id}/', () => {
  it('answers 204 with its operation and ends the adoption, without calling the provider', async () => {
    await adopt().expect(202);
    const reads = provider.reads();
    provider.answerAll([500, refused('server_error')]);

    const { headers } = await remove().expect(204);

    expect(await operations()).toEqual(['server.adopt superseded 1', 'server.deregister queued 1']);
    const { body } = await get().expect(200);
    expect(body.status.phase).toBe('Deregistering');
    expect(headers['operation-location']).toContain(body.status.operationId);
    expect(await audit()).toEqual(['server.adopt', 'server.deregister']);
    expect(provider.reads()).toBe(reads);
    expect(t.wakeups.at(-1)?.job).toBe('reconcile-server');
  });

  it('returns the same operation when it is repeated', async () => {
    await adopt().expect(202);
    const first = await remove().expect(204);

    expect((await remove().expect(204)).headers['operation-location']).toBe(first.headers['operation-location']);
    expect(await operations()).toHaveLength(2);
  });

  it('is refused with the name of the node pool that claims the server', async () => {
    await adopt().expect(202);
    await claimByPool();
    await setPhase('Ready');

    const { body } = await remove().expect(409);

    expect(body.code).toBe('server_claimed');
    expect(body.detail).toMatch(/metal.*shop/);
    expect((await get()).body.status.claimedBy).toEqual({ cluster: 'shop', nodePool: 'metal' });
  });

  it('is refused while the server is leaving a cluster', async () => {
    await adopt().expect(202);
    await t.pool.query(`UPDATE adopted_server SET phase = 'Leaving', node_name = 'node' WHERE server_id = $1`, [
      serverID,
    ]);

    const { body } = await remove().expect(409);

    expect([body.code, body.detail]).toEqual(['server_claimed', expect.stringMatching(/once it is Ready/)]);
  });

  it.each(['0', 'web', '99999999999999999999', '123456789'])('answers 404 for %s', async (id) => {
    expect((await remove(id).expect(404)).body.code).toBe('not_found');
    expect((await get(id).expect(404)).body.code).toBe('not_found');
  });
});

describe('a connection with adopted servers', () => {
  beforeEach(async () => {
    await adopt().expect(202);
  });

  it('cannot be deleted and names them', async () => {
    const { body } = await t.api.as(team.admin).delete(team.path('/connections/main/')).expect(409);

    expect(body.code).toBe('connection_in_use');
    expect(body.detail).toContain(String(serverID));
  });

  it('refuses a token of a project without any of them', async () => {
    const { body } = await put(team, 'main', randomUUID().repeat(2)).expect(409);

    expect(body.code).toBe('connection_project_mismatch');
    const connection = await t.db.connection.findFirstOrThrow({ where: { teamId: team.id } });
    expect(connection.tokenVersion).toBe(1);
  });

  it('accepts another token of their project and wakes waiting servers', async () => {
    const another = randomUUID().repeat(2);
    provider.put(another, { id: serverID });
    t.wakeups.length = 0;

    await put(team, 'main', another).expect(200);

    expect(t.wakeups).toEqual([expect.objectContaining({ job: 'reconcile-server' })]);
  });

  it('accepts any token when the provider gives no answer or all servers were missing before', async () => {
    provider.answerAll([500, refused('server_error')]);
    await put(team, 'main', randomUUID().repeat(2)).expect(200);

    provider.answerAll(null);
    await setPhase('Missing');
    await put(team, 'main', randomUUID().repeat(2)).expect(200);
  });
});

describe('a connection with clusters', () => {
  const another = () => randomUUID().repeat(2);
  const label = async (name: string) => {
    const { projectName } = await t.db.team.findUniqueOrThrow({ where: { id: team.id } });
    const { shootName } = await t.db.cluster.findFirstOrThrow({ where: { teamId: team.id, name } });
    return { 'mcm.gardener.cloud/cluster': `shoot--${projectName}--${shootName}` };
  };
  const tokenVersion = async () =>
    (await t.db.connection.findFirstOrThrow({ where: { teamId: team.id } })).tokenVersion;

  it('refuses a token of a project without any of their nodes', async () => {
    await runningCluster(t, team, 'web');

    const { body } = await put(team, 'main', another()).expect(409);

    expect(body.code).toBe('connection_project_mismatch');
    expect(await tokenVersion()).toBe(1);
  });

  it('accepts a token of a project with a node of one of them', async () => {
    await runningCluster(t, team, 'web');
    await runningCluster(t, team, 'shop');
    const next = another();
    provider.put(next, { id: 77, labels: await label('shop') });

    await put(team, 'main', next).expect(200);

    expect(await tokenVersion()).toBe(2);
  });

  it('accepts any token when none of them has nodes or the provider gives no answer', async () => {
    await runningCluster(t, team, 'asleep', { hibernated: true });
    await t.pool.query(`UPDATE cluster SET phase = 'Hibernated' WHERE team_id = $1`, [team.id]);
    await declare(t, team, 'young');
    await put(team, 'main', another()).expect(200);
    await runningCluster(t, team, 'web');
    provider.answerAll([503, refused('unavailable')]);

    await put(team, 'main', another()).expect(200);

    expect(await tokenVersion()).toBe(3);
  });
});
