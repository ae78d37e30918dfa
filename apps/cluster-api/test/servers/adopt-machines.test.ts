import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aPool } from '../support/a-cluster.js';
import { addConnection, declare } from '../support/clusters.js';
import { claimsOf } from '../support/given-servers.js';
import { type Machines, own, startMachines } from '../support/machines.js';

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
