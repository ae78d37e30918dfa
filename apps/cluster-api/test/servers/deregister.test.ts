import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Adoptions, startAdoptions } from '../support/adoptions.js';
import { declare, runningCluster } from '../support/clusters.js';
import { refused } from '../support/fake-provider.js';

let at: Adoptions;

beforeAll(async () => {
  at = await startAdoptions();
});
afterAll(() => at.close());
beforeEach(() => at.reset());

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
  });

  it('returns the same operation when it is repeated', async () => {
    await at.adopt().expect(202);
    const first = await at.remove().expect(204);

    expect((await at.remove().expect(204)).headers['operation-location']).toBe(first.headers['operation-location']);
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

  it.each(['0', 'web', '99999999999999999999', '123456789'])('answers 404 for %s', async (id) => {
    expect((await at.remove(id).expect(404)).body.code).toBe('not_found');
    expect((await at.get(id).expect(404)).body.code).toBe('not_found');
  });
});

describe('a connection with adopted servers', () => {
  beforeEach(async () => {
    await at.adopt().expect(202);
  });

  it('cannot be deleted and names them', async () => {
    const { body } = await at.t.api.as(at.team.admin).delete(at.team.path('/connections/main/')).expect(409);

    expect(body.code).toBe('connection_in_use');
    expect(body.detail).toContain(String(at.serverID));
  });

  it('refuses a token of a project without any of them', async () => {
    const { body } = await at.put(at.team, 'main', randomUUID().repeat(2)).expect(409);

    expect(body.code).toBe('connection_project_mismatch');
    const connection = await at.t.db.connection.findFirstOrThrow({ where: { teamId: at.team.id } });
    expect(connection.tokenVersion).toBe(1);
  });

  it('accepts another token of their project and wakes waiting servers', async () => {
    const another = randomUUID().repeat(2);
    at.provider.put(another, { id: at.serverID });
    at.t.wakeups.length = 0;

    await at.put(at.team, 'main', another).expect(200);

    expect(at.t.wakeups).toEqual([expect.objectContaining({ job: 'reconcile-server' })]);
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

  it('refuses a token of a project without any of their nodes', async () => {
    await runningCluster(at.t, at.team, 'web');

    const { body } = await at.put(at.team, 'main', another()).expect(409);

    expect(body.code).toBe('connection_project_mismatch');
    expect(await tokenVersion()).toBe(1);
  });

  it('accepts a token of a project with a node of one of them', async () => {
    await runningCluster(at.t, at.team, 'web');
    await runningCluster(at.t, at.team, 'shop');
    const next = another();
    at.provider.put(next, { id: 77, labels: await label('shop') });

    await at.put(at.team, 'main', next).expect(200);

    expect(await tokenVersion()).toBe(2);
  });

  it('accepts any token when none of them has nodes or the provider gives no answer', async () => {
    await runningCluster(at.t, at.team, 'asleep', { hibernated: true });
    await at.t.pool.query(`UPDATE cluster SET phase = 'Hibernated' WHERE team_id = $1`, [at.team.id]);
    await declare(at.t, at.team, 'young');
    await at.put(at.team, 'main', another()).expect(200);
    await runningCluster(at.t, at.team, 'web');
    at.provider.answerAll([503, refused('unavailable')]);

    await at.put(at.team, 'main', another()).expect(200);

    expect(await tokenVersion()).toBe(3);
  });
});
