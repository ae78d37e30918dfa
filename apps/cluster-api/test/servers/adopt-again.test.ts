import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Adoptions, startAdoptions, WIPE } from '../support/adoptions.js';
import { refused } from '../support/fake-provider.js';

let at: Adoptions;

beforeAll(async () => {
  at = await startAdoptions();
});
afterAll(() => at.close());
beforeEach(() => at.reset());

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

  it('creates one intent for concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => at.adopt()));

    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202]);
    expect(new Set(answers.map(({ headers }) => headers['operation-location'])).size).toBe(1);
    expect(await at.operations()).toEqual(['server.adopt queued 1']);
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

  it.each(['Ready', 'Joining', 'Joined', 'Leaving', 'Missing', 'Deregistering'])(
    'is refused once the server is %s',
    async (phase) => {
      await at.adopt().expect(202);
      await at.setPhase(phase);

      expect((await at.adopt().expect(409)).body.code).toBe('server_claimed');
      expect(await at.operations()).toHaveLength(1);
    },
  );

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
