import type { ServerId } from '@corral/contracts';
import { rowClock } from '@corral/database';
import type { ServerOptions } from '@corral/local-cloud';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { nodePatch } from '../support/a-server.js';
import { addNodeCluster, claim, type NodeTestCluster } from '../support/node-clusters.js';
import { OTHER_TOKEN, PROJECT_TOKEN, type Servers, startServers } from '../support/start-servers.js';

let at: Servers;
beforeAll(async () => {
  at = await startServers();
});
afterAll(() => at.close());

describe('adoptions', () => {
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

      it.each<[string, object]>([
        ['the connection breaks after the rebuild has started', { reset: 'after' }],
        ['the response is truncated', { truncate: true }],
      ])('does not request a second rebuild when %s', async (_what, effect) => {
        const { id, serverId } = await at.acknowledge();
        at.breakRebuild(serverId, effect);

        expect(await at.untilIdle(id)).toMatchObject({ phase: 'Ready', operation: { state: 'succeeded' } });

        expect(at.atProvider(serverId).rebuilds).toBe(1);
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

      it('fails when the server differs from the acknowledged one', async () => {
        const { id, serverId } = await at.acknowledge();
        at.cloud.admin.changeServer(serverId, { serverType: 'cx52' });

        expect(await at.untilIdle(id)).toMatchObject({
          phase: 'Failed',
          operation: { error: { code: 'server_changed' } },
        });
        expect(at.atProvider(serverId).rebuilds).toBe(0);
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

      it('fails when the provider reports the rebuild as protected', async () => {
        const { id, serverId } = await at.acknowledge();
        at.breakRebuild(serverId, { status: 423, code: 'protected' });

        expect(await at.untilIdle(id)).toMatchObject({
          phase: 'Failed',
          operation: { error: { code: 'server_protected' } },
        });
        expect(at.atProvider(serverId).rebuilds).toBe(0);
      });

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

describe('machines that join by command', () => {
  let cluster: NodeTestCluster;
  let id: ServerId;
  let nodeName: string;
  beforeEach(async () => {
    cluster = await addNodeCluster(at);
    ({ id, nodeName } = await at.acknowledgeMachine());
  });

  /** Enough passes for everything that needs no external action. */
  const passes = async () => {
    for (let times = 0; times < 3; times += 1) await at.passNow(id);
    return at.server(id);
  };
  const claimed = async () => {
    await claim(at, id, cluster.poolId);
    return passes();
  };
  /** Registers the node like a machine that runs the command. */
  const runCommand = () => at.shoots.register(cluster.shootName, nodeName);
  const joined = async () => {
    await claimed();
    runCommand();
    return passes();
  };
  const audit = async () =>
    (await at.pool.query('SELECT action FROM audit_entry WHERE target_id = $1 ORDER BY id', [id])).rows.map(
      ({ action }) => action,
    );

  describe('the adoption of a machine that joins by command', () => {
    it('waits with a reason until the machine is a node', async () => {
      expect(await passes()).toMatchObject({
        phase: 'Adopting',
        operation: { state: 'running', waiting: { reason: 'NoNodePool', since: expect.any(String) } },
      });

      const awaited = await claimed();
      expect(awaited).toMatchObject({
        phase: 'Joining',
        node_name: nodeName,
        member_of_id: cluster.id,
        purpose: 'join',
        operation: { state: 'running', waiting: { reason: 'MachineAwaited', message: awaited?.message } },
      });

      runCommand();
      expect(await passes()).toMatchObject({
        phase: 'Joined',
        message: '',
        node_ready: true,
        adopted_at: expect.any(Date),
        operation: { state: 'succeeded', progress: 100, waiting: null },
      });
      expect(cluster.shoot.nodes.get(nodeName)).toMatchObject({ isReady: true, ...nodePatch });
      expect(await audit()).toEqual([]);
    });

    it('calls no provider, so an undecryptable token does not matter', async () => {
      const { byRoute } = at.cloud.admin.calls();
      await at.pool.query("UPDATE connection SET token_key_id = 'gone' WHERE id = $1", [at.connectionId]);

      expect(await joined()).toMatchObject({ phase: 'Joined', observed_at: null });

      expect(at.cloud.admin.calls().byRoute).toEqual(byRoute);
      await at.pool.query("UPDATE connection SET token_key_id = 'k1' WHERE id = $1", [at.connectionId]);
    });

    it('deletes its tokens in the cluster once the machine is a node', async () => {
      await claimed();
      cluster.shoot.tokens.add(nodeName);
      runCommand();

      expect(await passes()).toMatchObject({ phase: 'Joined' });

      expect([...cluster.shoot.tokens]).toEqual([]);
    });

    it('continues when the pool released the machine before it joined, and claimed it again', async () => {
      await claimed();
      cluster.shoot.tokens.add(nodeName);
      await claim(at, id, null);

      expect(await passes()).toMatchObject({
        phase: 'Adopting',
        node_name: null,
        member_of_id: null,
        operation: { state: 'running', waiting: { reason: 'NoNodePool' } },
      });
      expect([...cluster.shoot.tokens]).toEqual([]);
      expect(await joined()).toMatchObject({ phase: 'Joined', operation: { state: 'succeeded' } });
    });

    it('fails when the command is not run for a week, and can join afterwards', async () => {
      await claimed();
      await at.pool.query("UPDATE adopted_server SET begun_at = now() - interval '8 days' WHERE id = $1", [id]);
      expect(await passes()).toMatchObject({
        phase: 'Failed',
        operation: { state: 'failed', error: { code: 'server_never_joined' }, waiting: null },
      });

      await claim(at, id, null);
      expect(await passes()).toMatchObject({ phase: 'Ready', node_name: null });
      await claim(at, id, cluster.poolId);
      runCommand();
      expect(await passes()).toMatchObject({ phase: 'Joined' });
    });
  });

  describe('a released machine', () => {
    it('is drained and removed from the cluster, with a message to wipe it', async () => {
      await joined();
      await claim(at, id, null);

      const left = await passes();

      expect(left).toMatchObject({
        phase: 'Ready',
        message: expect.stringContaining('must wipe it'),
        node_name: null,
        node_ready: false,
        member_of_id: null,
        operation: { state: 'succeeded' },
      });
      expect(cluster.shoot.nodes.has(nodeName)).toBe(false);
      expect(at.shoots.undrained()).toBe(0);
    });

    it('is a node again once a pool claims it and its command was run', async () => {
      const first = await joined();
      await claim(at, id, null);
      await passes();

      expect(await claimed()).toMatchObject({ phase: 'Joining', message: expect.stringContaining('join command') });
      runCommand();
      expect(await passes()).toMatchObject({ phase: 'Joined', adopted_at: first?.adopted_at });
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
      // The backup was taken before the rebuild was requested.
      await at.pool.query(
        "UPDATE adopted_server SET phase = 'Adopting', rebuild_asked_at = NULL, rebuild_action_id = NULL WHERE id = $1",
        [id],
      );
      await hold(new Date(Date.now() - 3_600_000));

      await at.passNow(id);

      expect(await findingOf(id)).toBe('rebuilt_since');
    });

    it('is as recorded when the only rebuild is the known one', async () => {
      const { id } = await at.acknowledge();
      await at.untilIdle(id);
      await hold(new Date(Date.now() - 3_600_000));

      await at.passNow(id);

      expect(await findingOf(id)).toBe('as_recorded');
      expect((await at.server(id))?.phase).toBe('Ready');
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
    /** As the row of a backup that was taken before the rebuild was requested. */
    const forgetRebuild = (id: string) =>
      at.pool.query(
        "UPDATE adopted_server SET phase = 'Adopting', rebuild_asked_at = NULL, rebuild_action_id = NULL WHERE id = $1",
        [id],
      );

    it('goes on once it was read, if nothing was done to it since the backup', async () => {
      const { id, serverId } = await at.acknowledge();
      await leaveUnread(id);

      await at.untilIdle(id);

      expect((await at.server(id))?.phase).toBe('Ready');
      expect(at.atProvider(serverId).rebuilds).toBe(1);
      expect(await isUnread(id)).toBe(false);
    });

    it('is not rebuilt a second time, and fails', async () => {
      const { id, serverId } = await at.acknowledge();
      await at.untilIdle(id);
      await forgetRebuild(id);
      await leaveUnread(id);

      await at.untilIdle(id);

      expect((await at.server(id))?.phase).toBe('Failed');
      expect(at.atProvider(serverId).rebuilds).toBe(1);
      expect(await isUnread(id)).toBe(false);
    });

    it('stays as it is while its provider refuses the token', async () => {
      const { id, serverId } = await at.acknowledge();
      await at.untilIdle(id);
      await leaveUnread(id);
      await at.useToken('r'.repeat(64));

      await at.passNow(id);

      expect((await at.server(id))?.phase).toBe('Ready');
      expect(at.atProvider(serverId).rebuilds).toBe(1);
      expect(await isUnread(id)).toBe(true);
      await at.heal();
    });

    it('is rebuilt when its team acknowledges it again', async () => {
      const { id, serverId } = await at.acknowledge();
      await at.untilIdle(id);
      await forgetRebuild(id);
      await leaveUnread(id);
      await at.untilIdle(id);

      await at.acknowledgeAgain(id);
      await at.untilIdle(id);

      expect((await at.server(id))?.phase).toBe('Ready');
      expect(at.atProvider(serverId).rebuilds).toBe(2);
    });
  });
});
