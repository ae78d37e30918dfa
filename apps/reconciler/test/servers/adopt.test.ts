import type { ServerId } from '@corral/contracts';
import type { ServerOptions } from '@corral/local-cloud';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { OTHER_TOKEN, PROJECT_TOKEN, type Servers, startServers } from '../support/start-servers.js';

let at: Servers;
beforeAll(async () => {
  at = await startServers();
});
afterAll(() => at.close());

describe('adoptions', () => {
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
          harms: [],
          userData: expect.stringMatching(/^#cloud-config\n/),
          labels: { env: 'prod', 'corral.dev/claim': row?.claim_token },
        });
        expect(await auditOf(id)).toEqual(['server.rebuild']);
      },
    );

    it.each<[string, object]>([
      ['the connection breaks after the rebuild has started', { reset: 'after' }],
      ['the response is truncated', { truncate: true }],
    ])('does not request a second rebuild when %s', async (_what, effect) => {
      const { id, serverId } = await at.acknowledge();
      at.breakRebuild(serverId, effect);

      expect(await at.untilIdle(id)).toMatchObject({ phase: 'Ready', operation: { state: 'succeeded' } });

      expect(at.atProvider(serverId).rebuilds).toBe(1);
    });

    it('is one rebuild in the audit log when the provider was busy with the server at first', async () => {
      const { id, serverId } = await at.acknowledge();
      at.breakRebuild(serverId, { status: 423, code: 'locked' });

      expect(await at.untilIdle(id)).toMatchObject({ phase: 'Ready', operation: { state: 'succeeded' } });

      expect(await auditOf(id)).toEqual(['server.rebuild']);
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

  it('an adopted server is Missing when it is gone, and Ready when it is back', async () => {
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
  });

  describe('the operation of a server without progress', () => {
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
});

describe('during a hold', () => {
  afterEach(() => endHold());

  const hold = (backupTakenAt = new Date()) =>
    at.pool.query("INSERT INTO installation_hold (reason, backup_taken_at) VALUES ('restored', $1)", [backupTakenAt]);
  const endHold = () =>
    at.pool.query('UPDATE installation_hold SET ended_at = clock_timestamp() WHERE ended_at IS NULL');
  const findingOf = async (id: string): Promise<string | undefined> => {
    const { rows } = await at.pool.query<{ finding: string }>(
      "SELECT finding FROM hold_finding WHERE target_kind = 'AdoptedServer' AND target_id = $1 ORDER BY found_at DESC LIMIT 1",
      [id],
    );
    return rows[0]?.finding;
  };

  /** Makes the row that of a backup which was taken before the rebuild was requested. */
  const forgetRebuild = (id: string) =>
    at.pool.query(
      "UPDATE adopted_server SET phase = 'Adopting', rebuild_asked_at = NULL, rebuild_action_id = NULL WHERE id = $1",
      [id],
    );

  describe('an adopted server during a hold', () => {
    it('is neither labelled nor rebuilt', async () => {
      const { id, serverId } = await at.acknowledge();
      await hold();

      await at.passNow(id);

      expect(at.atProvider(serverId)).toMatchObject({ rebuilds: 0, labels: {} });
      expect(await findingOf(id)).toBe('to_be_changed');
      expect((await at.server(id))?.phase).toBe('Adopting');
    });

    it('is reported as rebuilt since the backup when the restored row does not know of the rebuild', async () => {
      const { id } = await at.acknowledge();
      await at.untilIdle(id);
      await forgetRebuild(id);
      await hold(new Date(Date.now() - 3_600_000));

      await at.passNow(id);

      expect(await findingOf(id)).toBe('rebuilt_since');
    });
  });

  describe('an adopted server that was not read before the hold ended', () => {
    const BEFORE = new Date(Date.now() - 3_600_000);
    const leaveUnread = async (id: string): Promise<void> => {
      await hold(BEFORE);
      await endHold();
      await at.pool.query(
        'UPDATE adopted_server SET unread_hold_id = (SELECT id FROM installation_hold ORDER BY begun_at DESC LIMIT 1) WHERE id = $1',
        [id],
      );
    };
    const isUnread = async (id: string): Promise<boolean> =>
      (await at.pool.query('SELECT FROM adopted_server WHERE id = $1 AND unread_hold_id IS NOT NULL', [id]))
        .rowCount === 1;
    it('goes on once it was read, if nothing was done to it since the backup', async () => {
      const { id, serverId } = await at.acknowledge();
      await leaveUnread(id);

      await at.untilIdle(id);

      expect((await at.server(id))?.phase).toBe('Ready');
      expect(at.atProvider(serverId).rebuilds).toBe(1);
      expect(await isUnread(id)).toBe(false);
    });

    it('is not rebuilt a second time, and fails, until its team acknowledges it again', async () => {
      const { id, serverId } = await at.acknowledge();
      await at.untilIdle(id);
      await forgetRebuild(id);
      await leaveUnread(id);

      await at.untilIdle(id);

      expect((await at.server(id))?.phase).toBe('Failed');
      expect(at.atProvider(serverId).rebuilds).toBe(1);
      expect(await isUnread(id)).toBe(false);

      await at.acknowledgeAgain(id);
      await at.untilIdle(id);

      expect((await at.server(id))?.phase).toBe('Ready');
      expect(at.atProvider(serverId).rebuilds).toBe(2);
    });
  });
});
