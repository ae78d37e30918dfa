import type { ServerId } from '@corral/contracts';
import type { ServerOptions } from '@corral/local-cloud';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { PROJECT_TOKEN, type Servers, startServers } from '../support/start-servers.js';

let at: Servers;
beforeAll(async () => {
  at = await startServers();
});
afterAll(() => at.close());
beforeEach(() => at.heal());

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
