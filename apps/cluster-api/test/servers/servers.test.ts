import { randomUUID } from 'node:crypto';
import { clusterLimits } from '@corral/contracts';
import { GardenError, type GardenErrorKind } from '@corral/garden';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Adoptions, startAdoptions, WIPE } from '../support/adoptions.js';
import { addConnection, declare, runningCluster, showConditions } from '../support/clusters.js';
import { refused } from '../support/fake-provider.js';
import { features, type Machines, startMachines } from '../support/machines.js';
import { recordedLog } from '../support/recorded-log.js';
import { startClusterApi } from '../support/start-cluster-api.js';

describe('servers of cloud projects', () => {
  let at: Adoptions;

  beforeAll(async () => {
    at = await startAdoptions();
  });

  afterAll(() => at.close());

  beforeEach(() => at.reset());

  describe('GET …/project-servers/', () => {
    const list = (ref = 'main') => at.team.asAdmin.get(`/connections/${ref}/project-servers/`);

    it('lists the servers that are no nodes, and why some cannot be adopted', async () => {
      const free = at.aServer({ name: 'db-1' });
      const node = at.aServer({ labels: { 'mcm.gardener.cloud/cluster': 'shoot--acme--web' } });
      await at.adopt().expect(202);

      const { items } = (await list().expect(200)).body as {
        items: { serverID: number; name: string; reason: string | null }[];
      };

      expect(items.find(({ serverID }) => serverID === free)).toMatchObject({ name: 'db-1', reason: null });
      expect(items.find(({ serverID }) => serverID === at.serverID)?.reason).toBe('The server is being adopted.');
      expect(items.some(({ serverID }) => serverID === node)).toBe(false);
    });
  });

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
      const { body } = await at.get().expect(200);
      expect(body.metadata.serverID).toBe(at.serverID);
      expect((await at.t.api.as(at.team.member).get(at.path())).body).toEqual([{ items: [body] }]);
    });

    it('does nothing without the acknowledgement', async () => {
      const reads = at.provider.reads();

      const { body } = await at.adopt({}, {}).expect(422);

      expect([body.code, body.errors[0].pointer]).toEqual(['acknowledgement_required', '/acknowledge']);
      expect(at.provider.reads()).toBe(reads);
      await at.expectNothingWritten();
    });

    it.each(['dedicated', 'onprem'])('refuses a server of kind %s when pools cannot use it', async (serverKind) => {
      const { body } = await at.adopt({ serverKind }).expect(422);

      expect([body.code, body.errors[0].pointer]).toEqual(['unsupported_by_garden', '/spec/serverKind']);
      await at.expectNothingWritten();
    });

    it('names each field that does not match the server', async () => {
      at.serverID = at.aServer({ serverType: 'cax11', location: 'fsn1', architecture: 'arm' });

      const { body } = await at.adopt().expect(422);

      expect(body.code).toBe('validation_failed');
      expect(body.detail).toBe(
        `The server ${at.serverID} does not match the specification: serverType is cax11, not cx22, location is fsn1, not hel1, ` +
          'architecture is arm64, not amd64. Check that it is the server that you mean.',
      );
      expect(body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
        '/spec/serverType',
        '/spec/location',
        '/spec/architecture',
      ]);
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
      const other = await at.t.createTeam();
      const otherToken = await at.connect(other);
      at.provider.put(otherToken, { id: at.serverID });
      await other.asAdmin
        .post('/connections/main/adopted-servers/')
        .send({ spec: at.spec(), acknowledge: WIPE })
        .expect(202);
      at.t.wakeups.length = 0;

      const answer = await at.adopt().expect(409);

      expect(answer.body.code).toBe('server_claimed');
      expect(answer.text).not.toContain(other.slug);
      await at.expectNothingWritten();
      // A team without the server in its project does not even learn that it has an owner.
      at.provider.take(at.token, at.serverID);
      const { body } = await at.adopt().expect(422);
      expect(body).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/spec/serverID' }] });
    });

    it('gives a server to one of two teams that adopt it at the same time', async () => {
      const other = await at.t.createTeam();
      at.provider.put(await at.connect(other), { id: at.serverID });
      const theirs = () =>
        other.asAdmin.post('/connections/main/adopted-servers/').send({ spec: at.spec(), acknowledge: WIPE });

      const statuses = (await Promise.all([at.adopt(), theirs()])).map(({ status }) => status);

      expect(statuses.sort()).toEqual([202, 409]);
      expect(await at.t.db.adoptedServer.count({ where: { serverId: at.serverID } })).toBe(1);
    });

    it('writes nothing when the provider fails', async () => {
      at.provider.answerAll([500, refused('server_error')]);

      expect((await at.adopt().expect(502)).body.code).toBe('upstream_unavailable');

      await at.expectNothingWritten();
    });

    it('does not call the provider over a rejected connection', async () => {
      await at.t.pool.query("UPDATE connection SET phase = 'Rejected' WHERE team_id = $1", [at.team.id]);
      const reads = at.provider.reads();

      expect((await at.adopt().expect(409)).body.code).toBe('connection_rejected');

      expect(at.provider.reads()).toBe(reads);
    });

    it('reports a rejected token once that is confirmed', async () => {
      at.provider.answerAll([401, refused('unauthorized')]);
      at.verdict = 'rejected';

      expect((await at.adopt().expect(409)).body.code).toBe('connection_rejected');

      await at.expectNothingWritten();
    });

    it('applies the quota of the installation or the team’s override', async () => {
      for (let count = 0; count < 3; count += 1) await at.adopt({ serverID: at.aServer() }).expect(202);
      expect((await at.adopt().expect(403)).body.code).toBe('quota_exceeded');

      await at.t.pool.query('UPDATE team SET adopted_servers_max = 4 WHERE id = $1', [at.team.id]);

      await at.adopt().expect(202);
      expect(await at.rows()).toHaveLength(4);
    });
  });

  describe('DELETE …/adopted-servers/{server_id}/', () => {
    it('answers 204 with its operation and ends the adoption, without calling the provider', async () => {
      await at.adopt().expect(202);
      const reads = at.provider.reads();
      at.provider.answerAll([500, refused('server_error')]);

      const { headers } = await at.remove().expect(204);

      expect(await at.operations()).toEqual(['server.adopt superseded 1', 'server.deregister queued 1']);
      const { body } = await at.get().expect(200);
      expect(body.status.phase).toBe('Deregistering');
      expect(headers['operation-location']).toContain(body.status.operationId);
      expect(await at.audit()).toEqual(['server.adopt', 'server.deregister']);
      expect(at.provider.reads()).toBe(reads);
      expect(at.t.wakeups.at(-1)?.job).toBe('reconcile-server');
      const again = await at.remove().expect(204);
      expect(again.headers['operation-location']).toBe(headers['operation-location']);
      expect(await at.operations()).toHaveLength(2);
    });

    it('is refused with the name of the node pool that claims the server', async () => {
      await at.adopt().expect(202);
      await at.claimByPool();
      await at.setPhase('Ready');

      const { body } = await at.remove().expect(409);

      expect(body.code).toBe('server_claimed');
      expect(body.detail).toMatch(/metal.*shop/);
      expect((await at.get()).body.status.claimedBy).toEqual({ cluster: 'shop', nodePool: 'metal' });
    });

    it('is refused while the server is leaving a cluster', async () => {
      await at.adopt().expect(202);
      await at.t.pool.query(`UPDATE adopted_server SET phase = 'Leaving', node_name = 'node' WHERE server_id = $1`, [
        at.serverID,
      ]);

      const { body } = await at.remove().expect(409);

      expect([body.code, body.detail]).toEqual(['server_claimed', expect.stringMatching(/once it is Ready/)]);
    });
  });

  describe('a connection with adopted servers', () => {
    beforeEach(async () => {
      await at.adopt().expect(202);
    });

    it('accepts only another token of their project, and wakes waiting servers', async () => {
      const another = randomUUID().repeat(2);
      at.provider.put(another, { id: at.serverID });
      at.t.wakeups.length = 0;

      const { body } = await at.put(at.team, 'main', randomUUID().repeat(2)).expect(409);
      expect(body.code).toBe('connection_project_mismatch');
      const connection = await at.t.db.connection.findFirstOrThrow({ where: { teamId: at.team.id } });
      expect(connection.tokenVersion).toBe(1);

      await at.put(at.team, 'main', another).expect(200);

      const jobs = at.t.wakeups.map(({ job }) => job);
      expect(jobs).toEqual(['reconcile-server', 'verify-connections', 'refresh-prices']);
    });

    it('accepts any token when the provider gives no answer or all servers were missing before', async () => {
      at.provider.answerAll([500, refused('server_error')]);
      await at.put(at.team, 'main', randomUUID().repeat(2)).expect(200);

      at.provider.answerAll(null);
      await at.setPhase('Missing');
      await at.put(at.team, 'main', randomUUID().repeat(2)).expect(200);
    });
  });

  describe('a connection with clusters', () => {
    const another = () => randomUUID().repeat(2);
    const label = async (name: string) => {
      const { projectName } = await at.t.db.team.findUniqueOrThrow({ where: { id: at.team.id } });
      const { shootName } = await at.t.db.cluster.findFirstOrThrow({ where: { teamId: at.team.id, name } });
      return { 'mcm.gardener.cloud/cluster': `shoot--${projectName}--${shootName}` };
    };
    const tokenVersion = async () =>
      (await at.t.db.connection.findFirstOrThrow({ where: { teamId: at.team.id } })).tokenVersion;

    it('accepts only a token of a project with a node of one of them', async () => {
      await runningCluster(at.t, at.team, 'web');
      await runningCluster(at.t, at.team, 'shop');
      const next = another();
      at.provider.put(next, { id: 77, labels: await label('shop') });

      const { body } = await at.put(at.team, 'main', another()).expect(409);
      expect([body.code, await tokenVersion()]).toEqual(['connection_project_mismatch', 1]);
      await at.put(at.team, 'main', next).expect(200);

      expect(await tokenVersion()).toBe(2);
    });

    it('accepts any token when none of them has nodes or the provider gives no answer', async () => {
      await runningCluster(at.t, at.team, 'asleep', { hibernated: true });
      await at.t.pool.query(`UPDATE cluster SET phase = 'Hibernated' WHERE team_id = $1`, [at.team.id]);
      await declare(at.team, 'young');
      await at.put(at.team, 'main', another()).expect(200);
      await runningCluster(at.t, at.team, 'web');
      at.provider.answerAll([503, refused('unavailable')]);

      await at.put(at.team, 'main', another()).expect(200);

      expect(await tokenVersion()).toBe(3);
    });
  });

  describe('a repeated adoption', () => {
    it('returns the running operation without a second intent', async () => {
      const first = await at.adopt().expect(202);
      at.provider.answerAll([500, refused('server_error')]);

      const second = await at.adopt().expect(202);

      expect(second.headers['operation-location']).toBe(first.headers['operation-location']);
      expect(await at.operations()).toEqual(['server.adopt queued 1']);
      expect(await at.audit()).toEqual(['server.adopt']);
    });

    it('with the same Idempotency-Key returns the first outcome, whatever the server’s phase', async () => {
      const send = (body: object) =>
        at.t.api.as(at.team.admin).post(at.path()).set('Idempotency-Key', at.serverID.toString()).send(body);
      const first = await send({ spec: at.spec(), acknowledge: WIPE }).expect(202);
      await at.setPhase('Ready');

      const second = await send({ spec: at.spec(), acknowledge: WIPE }).expect(202);

      expect(second.headers['operation-location']).toBe(first.headers['operation-location']);
      expect(second.body.status.phase).toBe('Ready');
      const other = { ...at.spec(), serverID: at.aServer() };
      expect((await send({ spec: other, acknowledge: WIPE }).expect(422)).body.code).toBe('idempotency_key_reused');
      expect(await at.rows()).toHaveLength(1);
    });

    it('with another specification is refused while the adoption runs', async () => {
      await at.adopt().expect(202);
      at.provider.put(at.token, { id: at.serverID, serverType: 'cx32' });

      const { body } = await at.adopt({ serverType: 'cx32' }).expect(409);
      expect(body.code).toBe('server_claimed');
      expect(body.detail).toBe(
        'The server is being adopted with another specification: serverType is cx22, not cx32. Wait until the adoption has finished.',
      );
    });

    it.each(['Ready', 'Joined', 'Deregistering'])('is refused once the server is %s', async (phase) => {
      await at.adopt().expect(202);
      await at.setPhase(phase);

      expect((await at.adopt().expect(409)).body.code).toBe('server_claimed');
      expect(await at.operations()).toHaveLength(1);
    });

    it('creates a new intent after a failure', async () => {
      await at.adopt().expect(202);
      await at.setPhase('Failed');
      await at.endOperations('failed');
      const [before] = await at.rows();
      at.provider.put(at.token, { id: at.serverID, labels: { 'corral.dev/claim': before?.claimToken as string } });

      const { body } = await at.adopt().expect(202);

      expect(body.status.phase).toBe('Adopting');
      expect(await at.operations()).toEqual(['server.adopt failed 1', 'server.adopt queued 2']);
      expect(await at.rows()).toEqual([
        expect.objectContaining({ id: before?.id, generation: 2, rebuildAskedAt: null, rebuildActionId: null }),
      ]);
      expect(await at.audit()).toEqual(['server.adopt', 'server.adopt']);
    });
  });

  describe('a server that failed as a node', () => {
    beforeEach(async () => {
      await at.adopt().expect(202);
      await at.endOperations('failed');
      await at.t.pool.query(
        `UPDATE adopted_server SET phase = 'Failed', purpose = 'join', node_name = 'node', node_ready = true,
              begun_at = '2026-01-01' WHERE server_id = $1`,
        [at.serverID],
      );
      const [row] = await at.rows();
      at.provider.put(at.token, { id: at.serverID, labels: { 'corral.dev/claim': row?.claimToken as string } });
    });

    it('cannot be adopted again while a pool claims it', async () => {
      await at.claimByPool();

      const { body } = await at.adopt().expect(409);

      expect([body.code, body.detail]).toEqual(['server_claimed', expect.stringMatching(/metal.*shop.*smaller/)]);
      expect(await at.operations()).toEqual(['server.adopt failed 1']);
    });

    it('can be adopted again once only its node is left, but not deregistered before that is gone', async () => {
      const { body } = await at.remove().expect(409);
      expect([body.code, body.detail]).toEqual(['server_claimed', expect.stringMatching(/Adopt it again/)]);

      await at.adopt().expect(202);

      const [row] = await at.rows();
      expect(row).toMatchObject({
        phase: 'Adopting',
        purpose: 'adopt',
        nodeName: 'node',
        nodeReady: false,
        generation: 2,
        begunAt: row?.acknowledgedAt,
      });
      await at.remove().expect(409);
    });

    it('can be deregistered when the token is rejected, because it cannot be rebuilt', async () => {
      await at.t.db.connection.updateMany({ where: { teamId: at.team.id }, data: { phase: 'Rejected' } });

      await at.remove().expect(204);

      expect(await at.rows()).toEqual([expect.objectContaining({ phase: 'Deregistering' })]);
    });
  });
});

describe('machines that join by command', () => {
  let at: Machines;

  beforeAll(async () => {
    at = await startMachines();
  });

  afterAll(() => at.close());

  beforeEach(() => at.reset());

  describe('the adoption of a machine that joins by command', () => {
    it.each(['dedicated', 'onprem'])('is accepted for the kind %s without calling the provider', async (serverKind) => {
      const reads = at.provider.reads();

      const { body, headers } = await at.adopt({ serverKind, location: 'the cellar' }).expect(202);

      expect(at.provider.reads()).toBe(reads);

      expect(body).toMatchObject({
        metadata: { name: String(at.serverID), serverID: at.serverID },
        spec: { serverKind, serverType: 'ax42', location: 'the cellar' },
        status: { phase: 'Adopting', claimedBy: null },
      });
      const operation = await at.t.api
        .as(at.team.member)
        .get(new URL(headers['operation-location'] as string).pathname);
      expect(operation.body).toMatchObject({ kind: 'server.adopt', state: 'queued' });
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
      const put = at.team.asAdmin.put('/connections/main/').send({ spec: { provider: 'hcloud', token: randomUUID() } });

      await put.expect(200);
    });
  });

  describe('POST …/adopted-servers/{server_id}/join-command/', () => {
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

    it('restarts the wait for the machine with each new token, which is in the audit log', async () => {
      await at.joining();
      const before = await at.row();

      const first = (await ask().expect(200)).body;
      const { id, dueAt, begunAt, generation } = await at.row();
      const second = (await ask().expect(200)).body;

      expect(dueAt).not.toBeNull();
      expect(begunAt.getTime()).toBeGreaterThan(before.begunAt.getTime());
      // A pass that is about to conclude that the machine has joined must check again, because of the new token.
      expect(generation).toBe(before.generation + 1);
      expect(at.t.wakeups[0]).toEqual({ job: 'reconcile-server', payload: { serverId: id } });
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

    it.each<[string, object, RegExp]>([
      ['of the cloud, which is rebuilt', { serverKind: 'cloud' }, /rebuilt as a node automatically/],
      ['that no node pool claims', { nodePoolId: null }, /No node pool uses the server/],
      ['whose membership is not stored yet', { phase: 'Adopting', memberOfId: null, nodeName: null }, /in a moment/],
      ['that is a node', { phase: 'Joined' }, /already a node/],
      ['that leaves', { phase: 'Leaving' }, /wipe the machine/],
      ['that failed', { phase: 'Failed', message: 'It did not become a node.' }, /It did not become a node/],
      ['that is deregistered', { phase: 'Deregistering' }, /being deregistered/],
    ])('is refused for a server %s', async (_what, given, said) => {
      await at.joining();
      await at.update(given);

      await expectRefused('server_not_joining', 409, said);
    });

    it('is refused while the cluster does not answer', async () => {
      await at.joining();
      await showConditions(at.t, at.team, 'web', { ControlPlaneReady: 'False' });

      await expectRefused('cluster_not_ready', 409);
    });

    it.each<[GardenErrorKind, string, number, boolean | undefined]>([
      ['unreachable', 'upstream_unavailable', 502, false],
      ['uncertain', 'upstream_unavailable', 502, undefined],
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
  });
});
