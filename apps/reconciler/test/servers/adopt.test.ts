import type { ServerId } from '@corral/contracts';
import { rowClock } from '@corral/database';
import type { ServerOptions } from '@corral/local-cloud';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { OTHER_TOKEN, PROJECT_TOKEN, type Servers, startServers } from '../support/start-servers.js';

let at: Servers;

beforeAll(async () => {
  at = await startServers();
});

afterAll(() => at.close());

describe('adopt', () => {
  beforeEach(() => at.heal());

  const auditOf = async (id: string) =>
    (await at.pool.query('SELECT action FROM audit_entry WHERE target_id = $1 ORDER BY id', [id])).rows.map(
      ({ action }) => action,
    );

  describe('an adoption', () => {
    it.each([
      ['x86', 161_547_269],
      ['arm', 161_547_270],
    ] as const)(
      'rebuilds a server of architecture %s once, with the image for it and fresh user data',
      async (architecture, imageId) => {
        const { id, serverId } = await at.acknowledge({ architecture, name: 'web', labels: { env: 'prod' } });

        const row = await at.untilIdle(id);

        expect(row).toMatchObject({
          phase: 'Ready',
          message: '',
          name: 'web',
          operation: { state: 'succeeded', progress: 100 },
        });
        expect(row?.adopted_at).toBeInstanceOf(Date);
        expect(at.atProvider(serverId)).toMatchObject({
          rebuilds: 1,
          imageId,
          powerOffs: 0,
          deletedBy: null,
          userData: expect.stringMatching(/^#cloud-config\n/),
          labels: { env: 'prod', 'corral.dev/claim': row?.claim_token },
        });
        expect(await auditOf(id)).toEqual(['server.rebuild']);
      },
    );

    it('reports its progress', async () => {
      const { id } = await at.acknowledge();

      await at.passNow(id);

      const row = await at.server(id);
      expect(row).toMatchObject({ phase: 'Rebuilding', operation: { state: 'running' } });
      expect(row?.operation.progress).toBeGreaterThan(30);
      expect(row?.operation.progress).toBeLessThan(100);
    });

    it.each<[string, object]>([
      ['the connection breaks after the rebuild has started', { reset: 'after' }],
      ['the response is truncated', { truncate: true }],
    ])('does not request a second rebuild when %s', async (_what, effect) => {
      const { id, serverId } = await at.acknowledge();
      at.breakRebuild(serverId, effect);

      expect(await at.untilIdle(id)).toMatchObject({ phase: 'Ready', operation: { state: 'succeeded' } });

      expect(at.atProvider(serverId).rebuilds).toBe(1);
    });

    it('requests again only when the first request can no longer arrive', async () => {
      const { id, serverId } = await at.acknowledge();
      at.breakRebuild(serverId, { status: 503 });
      await at.passNow(id);
      const asked = (await at.server(id))?.rebuild_asked_at;
      at.cloud.admin.advanceClock(10_000);
      await at.passNow(id);
      expect(await at.server(id)).toMatchObject({ phase: 'Rebuilding', rebuild_asked_at: asked });
      expect(at.atProvider(serverId).rebuilds).toBe(0);

      expect(await at.untilIdle(id)).toMatchObject({ phase: 'Ready' });

      expect(at.atProvider(serverId).rebuilds).toBe(1);
      expect(await auditOf(id)).toEqual(['server.rebuild', 'server.rebuild']);
    });

    it('waits while the server is locked, and continues afterwards', async () => {
      const { id, serverId } = await at.acknowledge({ locked: true });
      await at.passNow(id);
      expect(await at.server(id)).toMatchObject({ phase: 'Adopting', message: expect.stringContaining('locked') });
      at.cloud.admin.changeServer(serverId, { locked: false });

      expect(await at.untilIdle(id)).toMatchObject({ phase: 'Ready' });
    });

    it.each<[string, ServerOptions, string]>([
      ['protected', { protection: { delete: true, rebuild: true } }, 'server_protected'],
      ['in rescue', { rescueEnabled: true }, 'server_in_rescue'],
    ])('fails without touching a server that is %s', async (_what, options, code) => {
      const { id, serverId } = await at.acknowledge(options);

      const row = await at.untilIdle(id);

      expect(row).toMatchObject({ phase: 'Failed', due_at: null, operation: { state: 'failed', error: { code } } });
      expect(row?.message).not.toBe('');
      expect(at.atProvider(serverId)).toMatchObject({ rebuilds: 0, userData: null });
    });

    it('fails when the server differs from the acknowledged one', async () => {
      const { id, serverId } = await at.acknowledge();
      at.cloud.admin.changeServer(serverId, { serverType: 'cx52' });

      expect(await at.untilIdle(id)).toMatchObject({
        phase: 'Failed',
        operation: { error: { code: 'server_changed' } },
      });
      expect(at.atProvider(serverId).rebuilds).toBe(0);
    });

    it('fails when the server no longer exists', async () => {
      const { id, serverId } = await at.acknowledge();
      at.cloud.admin.vanishServer(serverId);

      expect(await at.untilIdle(id)).toMatchObject({ phase: 'Failed', operation: { error: { code: 'server_gone' } } });
    });

    it('fails with its rebuild, and can be acknowledged again for another one', async () => {
      const { id, serverId } = await at.acknowledge();
      at.breakRebuild(serverId, { actionError: { code: 'action_failed', message: 'no' } });
      expect(await at.untilIdle(id)).toMatchObject({
        phase: 'Failed',
        message: expect.stringContaining('(action_failed)'),
        operation: { error: { code: 'server_rebuild_failed' } },
      });

      await at.acknowledgeAgain(id);

      expect(await at.untilIdle(id)).toMatchObject({
        phase: 'Ready',
        generation: 2,
        operation: { state: 'succeeded' },
      });
      expect(at.atProvider(serverId).rebuilds).toBe(2);
    });

    it('does not adopt the rebuild of an earlier acknowledgement after a lost response', async () => {
      const { id, serverId } = await at.acknowledge();
      at.breakRebuild(serverId, { actionError: { code: 'action_failed', message: 'no' } });
      await at.untilIdle(id);
      await at.acknowledgeAgain(id);
      at.breakRebuild(serverId, { status: 503 });

      expect(await at.untilIdle(id)).toMatchObject({ phase: 'Ready' });

      expect(at.atProvider(serverId).rebuilds).toBe(2);
    });

    it.each<[string, object, string]>([['protected', { status: 423, code: 'protected' }, 'server_protected']])(
      'fails when the provider reports the rebuild as %s',
      async (_what, effect, code) => {
        const { id, serverId } = await at.acknowledge();
        at.breakRebuild(serverId, effect);

        expect(await at.untilIdle(id)).toMatchObject({ phase: 'Failed', operation: { error: { code } } });
        expect(at.atProvider(serverId).rebuilds).toBe(0);
      },
    );

    it('fails with a read-only token', async () => {
      const { id } = await at.acknowledge();
      at.cloud.admin.addProjectToken(PROJECT_TOKEN, { readOnly: true });

      expect(await at.untilIdle(id)).toMatchObject({
        phase: 'Failed',
        operation: { error: { code: 'server_token_rejected' } },
      });
    });

    it('requests a token verification when the provider refuses the token, and fails when it is rejected', async () => {
      const { id } = await at.acknowledge();
      await at.useToken('unknown'.repeat(8));
      await at.passNow(id);
      expect(await at.server(id)).toMatchObject({ phase: 'Adopting' });
      const { rows } = await at.pool.query(`SELECT verify_at <= ${rowClock} AS due FROM connection WHERE id = $1`, [
        at.connectionId,
      ]);
      expect(rows[0].due).toBe(true);

      await at.pool.query("UPDATE connection SET phase = 'Rejected' WHERE id = $1", [at.connectionId]);

      expect(await at.untilIdle(id)).toMatchObject({ operation: { error: { code: 'server_token_rejected' } } });
    });

    it('waits without calls while the project’s request limit is used up', async () => {
      const { id } = await at.acknowledge();
      at.cloud.admin.addFaults({ effect: { status: 429, retryAfter: 1 }, times: 1 });
      await at.passNow(id);
      const { total } = at.cloud.admin.calls();

      await at.passNow(id);

      expect(at.cloud.admin.calls().total).toBe(total);
      expect(await at.server(id)).toMatchObject({ phase: 'Adopting', message: expect.stringContaining('used up') });
      expect(await at.untilIdle(id)).toMatchObject({ phase: 'Ready' });
    });

    it('fails at its time limit with the code of the wait', async () => {
      const { id } = await at.acknowledge({ locked: true });
      await at.pool.query("UPDATE adopted_server SET acknowledged_at = now() - interval '2 hours' WHERE id = $1", [id]);

      expect(await at.untilIdle(id)).toMatchObject({
        phase: 'Failed',
        operation: { error: { code: 'server_locked' } },
      });
    });

    it('never stores the root password of a server without SSH keys', async () => {
      const { id } = await at.acknowledge({ hasSshKeys: false });
      await at.untilIdle(id);

      const { rows } = await at.pool.query(
        'SELECT s.*, o.*, a.detail FROM adopted_server s JOIN operation o ON o.target_id = s.id JOIN audit_entry a ON a.target_id = s.id WHERE s.id = $1',
        [id],
      );
      expect(rows.length).toBeGreaterThan(0);
      expect(JSON.stringify(rows)).not.toMatch(/password/i);
    });
  });

  describe('an adopted server', () => {
    it('is Missing when it is gone, and Ready when it is back', async () => {
      const { id, serverId } = await at.acknowledge();
      await at.untilIdle(id);
      const { rows } = await at.pool.query(
        "SELECT due_at > now() + interval '12 hours' AS rests FROM adopted_server WHERE id = $1",
        [id],
      );
      expect(rows[0].rests).toBe(true);
      await at.useToken(OTHER_TOKEN);

      await at.passNow(id);
      expect(await at.server(id)).toMatchObject({ phase: 'Missing', message: expect.stringContaining('Deregister') });

      await at.useToken(PROJECT_TOKEN);
      at.cloud.admin.changeServer(serverId, { name: 'renamed' });
      await at.passNow(id);
      expect(await at.server(id)).toMatchObject({ phase: 'Ready', message: '', name: 'renamed' });
    });

    it('keeps its phase while the provider does not answer', async () => {
      const { id } = await at.acknowledge();
      await at.untilIdle(id);
      at.cloud.admin.addFaults({ effect: { status: 500 }, times: null });

      await at.passNow(id);

      expect(await at.server(id)).toMatchObject({ phase: 'Ready', operation: { state: 'succeeded' } });
    });
  });

  describe('a deregistration', () => {
    const operationsOf = async (id: string) =>
      (
        await at.pool.query('SELECT kind, state FROM operation WHERE target_id = $1 ORDER BY created_at', [id])
      ).rows.map(({ kind, state }) => `${kind} ${state}`);

    it('removes our label and changes nothing else', async () => {
      const { id, serverId } = await at.acknowledge({ labels: { env: 'prod' } });
      await at.untilIdle(id);
      const before = at.atProvider(serverId);
      await at.deregister(id);

      expect(await at.untilIdle(id)).toBeUndefined();

      // The time of the machine's first boot does not depend on us.
      const { firstBoot, ...after } = at.atProvider(serverId);
      expect({ ...after, firstBoot: before.firstBoot }).toEqual({ ...before, labels: { env: 'prod' } });
      expect(await operationsOf(id)).toEqual(['server.adopt succeeded', 'server.deregister succeeded']);
      expect(await auditOf(id)).toEqual(['server.rebuild', 'server.deregistered']);
    });

    it('ends an adoption before the rebuild', async () => {
      const { id, serverId } = await at.acknowledge({ locked: true });
      await at.passNow(id);
      await at.deregister(id);

      expect(await at.untilIdle(id)).toBeUndefined();

      expect(at.atProvider(serverId)).toMatchObject({ rebuilds: 0, labels: {} });
      expect(await operationsOf(id)).toEqual(['server.adopt superseded', 'server.deregister succeeded']);
    });

    it.each<[string, (serverId: number) => unknown]>([
      ['the server no longer exists', (serverId) => at.cloud.admin.vanishServer(serverId)],
    ])('succeeds when %s', async (_what, happens) => {
      const { id, serverId } = await at.acknowledge();
      await at.untilIdle(id);
      await happens(serverId);
      const labels = at.atProvider(serverId).labels;
      await at.deregister(id);

      expect(await at.untilIdle(id)).toBeUndefined();

      expect(at.atProvider(serverId)).toMatchObject({ labels, powerOffs: 0 });
      expect(at.atProvider(serverId).deletedBy).not.toBe('api');
      expect(await operationsOf(id)).toContain('server.deregister succeeded');
    });

    it('waits for a provider that does not answer', async () => {
      const { id } = await at.acknowledge();
      await at.untilIdle(id);
      await at.deregister(id);
      at.cloud.admin.addFaults({ effect: { status: 500 }, times: 3 });
      await at.passNow(id);
      expect(await at.server(id)).toMatchObject({ phase: 'Deregistering', operation: { state: 'queued' } });

      expect(await at.untilIdle(id)).toBeUndefined();
    });
  });
});

describe('the operation of a server without progress', () => {
  beforeEach(() => at.heal());
  const waitingOf = async (id: ServerId) => (await at.server(id))?.operation.waiting;
  const seconds = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

  it.each<[string, ServerOptions, object | null, object]>([
    [
      'an action runs on the server',
      { locked: true },
      null,
      { reason: 'ServerBusy', message: 'The provider has locked the server because an action is running on it.' },
    ],
    [
      'the provider throttles',
      {},
      { status: 429, retryAfter: 1 },
      { reason: 'ProviderThrottled', message: expect.stringContaining('used up') },
    ],
    [
      'the provider is unavailable',
      {},
      { status: 503 },
      { reason: 'ProviderUnavailable', message: expect.stringContaining('no usable answer') },
    ],
  ])(
    'reports the reason and its start while %s, and clears them afterwards',
    async (_what, options, effect, expected) => {
      const { id, serverId } = await at.acknowledge(options);
      if (effect !== null) at.cloud.admin.addFaults({ effect, times: 1 } as never);
      await at.passNow(id);
      const waiting = await waitingOf(id);

      expect(waiting).toEqual({ ...expected, since: expect.stringMatching(seconds) });
      at.cloud.admin.changeServer(serverId, { locked: false });
      expect((await at.untilIdle(id))?.operation).toMatchObject({ state: 'succeeded', waiting: null });
    },
  );

  it('keeps the start time of a reason, and resets it for another one', async () => {
    const { id, serverId } = await at.acknowledge({ locked: true });
    await at.passNow(id);
    const since = '2026-01-01T00:00:00.000Z';
    await at.pool.query(
      `UPDATE operation SET waiting = jsonb_set(waiting, '{since}', to_jsonb($2::text)) WHERE target_id = $1`,
      [id, since],
    );

    await at.passNow(id);
    expect(await waitingOf(id)).toMatchObject({ reason: 'ServerBusy', since });
    at.cloud.admin.changeServer(serverId, { locked: false });
    at.breakRebuild(serverId, { reset: 'after' });
    await at.passNow(id);

    const waiting = await waitingOf(id);
    expect(waiting).toMatchObject({ reason: 'ProviderUnavailable' });
    expect(waiting?.since).not.toBe(since);
  });

  it('reports a token that cannot be decrypted, and one that is rejected during the rebuild', async () => {
    const { id, serverId } = await at.acknowledge();
    at.breakRebuild(serverId, { reset: 'after' });
    await at.passNow(id);
    await at.pool.query(`UPDATE connection SET token_key_id = 'lost' WHERE id = $1`, [at.connectionId]);
    await at.passNow(id);
    const unreadable = await waitingOf(id);
    await at.useToken(PROJECT_TOKEN);
    await at.pool.query(`UPDATE connection SET phase = 'Rejected' WHERE id = $1`, [at.connectionId]);
    await at.passNow(id);

    expect([unreadable?.reason, (await waitingOf(id))?.reason]).toEqual(['TokenUnreadable', 'ProviderTokenRejected']);
  });

  it('reports the reason for a deregistration as well', async () => {
    const { id } = await at.acknowledge();
    await at.untilIdle(id);
    await at.deregister(id);
    at.cloud.admin.addFaults({ effect: { status: 500 }, times: 3 });

    await at.passNow(id);

    expect((await at.server(id))?.operation).toMatchObject({
      state: 'queued',
      waiting: { reason: 'ProviderUnavailable' },
    });
    expect(await at.untilIdle(id)).toBeUndefined();
    const { rows } = await at.pool.query(
      `SELECT state, waiting FROM operation WHERE target_id = $1 AND kind = 'server.deregister'`,
      [id],
    );
    expect(rows).toEqual([{ state: 'succeeded', waiting: null }]);
  });

  it('causes one event for any number of retries', async () => {
    const { id } = await at.acknowledge({ locked: true });
    await at.passNow(id);
    const events = async () =>
      (
        await at.pool.query(
          `SELECT FROM team_event WHERE kind = 'Operation' AND target_id = (
                              SELECT operation_id::text FROM adopted_server WHERE id = $1)`,
          [id],
        )
      ).rowCount;
    const before = await events();

    for (let passes = 0; passes < 3; passes += 1) await at.passNow(id);

    expect(await events()).toBe(before);
  });
});
