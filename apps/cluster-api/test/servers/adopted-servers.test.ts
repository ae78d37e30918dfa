import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Adoptions, startAdoptions, WIPE } from '../support/adoptions.js';
import { refused } from '../support/fake-provider.js';

let at: Adoptions;

beforeAll(async () => {
  at = await startAdoptions();
});
afterAll(() => at.close());
beforeEach(() => at.reset());

describe('GET …/project-servers/{server_id}/', () => {
  const lookUp = (id: number | string = at.serverID, user = at.team.admin) =>
    at.t.api.as(user).get(at.team.path(`/connections/main/project-servers/${id}/`));

  it('shows the server with its live name, and writes nothing', async () => {
    const id = at.aServer({ name: 'db-1', serverType: 'cx32' });

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
    await at.expectNothingWritten();
  });

  it('says why a server cannot be adopted', async () => {
    await at.adopt().expect(202);
    expect((await lookUp().expect(200)).body).toMatchObject({
      adoptable: false,
      reason: 'The server is being adopted.',
    });

    await at.setPhase('Ready');
    expect((await lookUp().expect(200)).body.reason).toMatch(/already adopted/);
    const node = at.aServer({ labels: { 'mcm.gardener.cloud/cluster': 'shoot--acme--web' } });
    expect((await lookUp(node).expect(200)).body).toMatchObject({ adoptable: false, reason: expect.any(String) });
    const others = at.aServer({ labels: { 'corral.dev/claim': 'of-another-adoption' } });
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
    at.provider.answerAll([401, refused('unauthorized')]);
    at.verdict = 'rejected';

    expect((await lookUp().expect(409)).body.code).toBe('connection_rejected');
  });

  it('is for administrators of the team', async () => {
    await lookUp(at.serverID, at.team.member).expect(403);
    await lookUp(at.serverID, at.t.globex.admin).expect(404);
  });
});

describe('POST …/adopted-servers/', () => {
  it('answers 202 with the server and its operation, and wakes the reconciler', async () => {
    const answer = await at.adopt().expect(202);

    const [row] = await at.rows();
    expect(answer.body).toMatchObject({
      kind: 'AdoptedServer',
      metadata: { name: 'web', id: row?.id, serverID: at.serverID, team: at.team.slug, connectionRef: 'main' },
      spec: at.spec(),
      status: { phase: 'Adopting', message: '', claimedBy: null, adoptedAt: null, observedAt: null },
    });
    const operation = await at.t.api
      .as(at.team.member)
      .get(new URL(answer.headers['operation-location'] as string).pathname);
    expect(operation.body).toMatchObject({
      id: answer.body.status.operationId,
      kind: 'server.adopt',
      state: 'queued',
      progress: 0,
      target: { kind: 'AdoptedServer', name: String(at.serverID), id: row?.id },
    });
    expect(answer.headers.location).toBe(at.path(at.serverID));
    expect(row).toMatchObject({
      acknowledgedBy: at.team.admin.id,
      generation: 1,
      rebuildAskedAt: null,
      purpose: 'adopt',
    });
    expect(row?.begunAt).toEqual(row?.acknowledgedAt);
    expect(await at.audit()).toEqual(['server.adopt']);
    expect(at.t.wakeups).toEqual([{ job: 'reconcile-server', payload: { serverId: row?.id } }]);
  });

  it('is visible to members, in the list and by id', async () => {
    await at.adopt().expect(202);

    const { body } = await at.get().expect(200);
    expect(body.metadata.serverID).toBe(at.serverID);
    expect((await at.t.api.as(at.team.member).get(at.path())).body).toEqual([{ items: [body] }]);
  });

  it.each([undefined, null, 'WIPE', {}, { confirm: 'wipe' }, { confirm: true }, { confirm: 'WIPE', more: 1 }])(
    'does nothing with the acknowledgement %j',
    async (acknowledge) => {
      const reads = at.provider.reads();

      const { body } = await at.t.api
        .as(at.team.admin)
        .post(at.path())
        .send({ spec: at.spec(), acknowledge })
        .expect(422);

      expect([body.code, body.errors[0].pointer]).toEqual(['acknowledgement_required', '/acknowledge']);
      expect(at.provider.reads()).toBe(reads);
      await at.expectNothingWritten();
    },
  );

  it.each(['dedicated', 'onprem'])('refuses a server of kind %s when pools cannot use it', async (serverKind) => {
    const { body } = await at.adopt({ serverKind }).expect(422);

    expect([body.code, body.errors[0].pointer]).toEqual(['unsupported_by_garden', '/spec/serverKind']);
    await at.expectNothingWritten();
  });

  it('names each field that does not match the server', async () => {
    at.serverID = at.aServer({ serverType: 'cax11', location: 'fsn1', architecture: 'arm' });

    const { body } = await at.adopt().expect(422);

    const code = 'validation_failed';
    expect(body.code).toBe(code);
    expect(body.detail).toBe(
      `The server ${at.serverID} does not match the specification: serverType is cax11, not cx22, location is fsn1, not hel1, ` +
        'architecture is arm64, not amd64. Check that it is the server that you mean.',
    );
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
    await at.expectNothingWritten();
  });

  it('refuses a server that the project does not have', async () => {
    at.provider.take(at.token, at.serverID);

    const { body } = await at.adopt().expect(422);

    expect([body.code, body.errors[0].pointer]).toEqual(['validation_failed', '/spec/serverID']);
    await at.expectNothingWritten();
  });

  it.each([
    ['labelled as the node of a cluster', { 'mcm.gardener.cloud/cluster': 'shoot--x' }],
    ['labelled with the claim of another adoption', { 'corral.dev/claim': 'theirs' }],
  ])('refuses a server that is %s', async (_what, labels) => {
    at.serverID = at.aServer({ labels });

    expect((await at.adopt().expect(409)).body.code).toBe('server_claimed');
    await at.expectNothingWritten();
  });

  it('refuses a server of another team without revealing its owner', async () => {
    const other = await at.t.createTeam(`t-${randomUUID().slice(0, 8)}`);
    const otherToken = await at.connect(other);
    at.provider.put(otherToken, { id: at.serverID });
    await at.t.api
      .as(other.admin)
      .post(other.path('/connections/main/adopted-servers/'))
      .send({ spec: at.spec(), acknowledge: WIPE })
      .expect(202);
    at.t.wakeups.length = 0;

    const answer = await at.adopt().expect(409);

    expect(answer.body.code).toBe('server_claimed');
    expect(answer.text).not.toContain(other.slug);
    await at.expectNothingWritten();
    // A team without the server in its project does not even learn that it has an owner.
    at.provider.take(at.token, at.serverID);
    expect((await at.adopt().expect(422)).body.code).toBe('validation_failed');
  });

  it('gives a server to one of two teams that adopt it at the same time', async () => {
    const other = await at.t.createTeam(`t-${randomUUID().slice(0, 8)}`);
    at.provider.put(await at.connect(other), { id: at.serverID });
    const theirs = () =>
      at.t.api
        .as(other.admin)
        .post(other.path('/connections/main/adopted-servers/'))
        .send({ spec: at.spec(), acknowledge: WIPE });

    const statuses = (await Promise.all([at.adopt(), theirs()])).map(({ status }) => status);

    expect(statuses.sort()).toEqual([202, 409]);
    expect(await at.t.db.adoptedServer.count({ where: { serverId: at.serverID } })).toBe(1);
  });

  it.each<[string, number, unknown, number, string]>([
    ['500', 500, refused('server_error'), 502, 'upstream_unavailable'],
    ['429', 429, refused('rate_limit_exceeded'), 502, 'upstream_unavailable'],
    ['a page', 200, '<html>', 502, 'upstream_unavailable'],
    ['401', 401, refused('unauthorized'), 502, 'upstream_unavailable'],
  ])('writes nothing when the provider answers %s', async (_what, status, body, answered, code) => {
    at.provider.answerAll([status, body]);

    expect((await at.adopt().expect(answered)).body.code).toBe(code);

    await at.expectNothingWritten();
  });

  it('reports a rejected token once that is confirmed', async () => {
    at.provider.answerAll([401, refused('unauthorized')]);
    at.verdict = 'rejected';

    expect((await at.adopt().expect(409)).body.code).toBe('connection_rejected');

    await at.expectNothingWritten();
  });

  it('does not call the provider over a rejected connection', async () => {
    await at.t.pool.query("UPDATE connection SET phase = 'Rejected' WHERE team_id = $1", [at.team.id]);
    const reads = at.provider.reads();

    expect((await at.adopt().expect(409)).body.code).toBe('connection_rejected');

    expect(at.provider.reads()).toBe(reads);
  });

  it('applies the quota of the installation or the team’s override', async () => {
    for (let count = 0; count < 3; count += 1) await at.adopt({ serverID: at.aServer() }).expect(202);
    expect((await at.adopt().expect(403)).body.code).toBe('quota_exceeded');

    await at.t.pool.query('UPDATE team SET adopted_servers_max = 4 WHERE id = $1', [at.team.id]);

    await at.adopt().expect(202);
    expect(await at.rows()).toHaveLength(4);
  });

  it('is for administrators and the team’s own connections only', async () => {
    const send = (user: { cookie: string }, to: string) =>
      at.t.api
        .as(user as never)
        .post(to)
        .send({ spec: at.spec(), acknowledge: WIPE });

    expect((await send(at.team.member, at.path())).body.code).toBe('permission_denied');
    expect((await send(at.t.globex.admin, at.path())).body.code).toBe('not_found');
    expect((await send(at.team.admin, at.path(undefined, 'none'))).body.code).toBe('not_found');
    expect((await at.t.api.as(at.team.member).delete(at.path(at.serverID))).body.code).toBe('permission_denied');
    await at.expectNothingWritten();
  });
});
