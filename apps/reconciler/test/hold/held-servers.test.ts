import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Servers, startServers } from '../support/start-servers.js';

let at: Servers;
beforeAll(async () => {
  at = await startServers();
});
afterAll(() => at.close());
afterEach(() => endHold());

const hold = (backupTakenAt = new Date()) =>
  at.pool.query("INSERT INTO installation_hold (reason, backup_taken_at) VALUES ('restored', $1)", [backupTakenAt]);
const endHold = () => at.pool.query('UPDATE installation_hold SET ended_at = clock_timestamp() WHERE ended_at IS NULL');
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
    (await at.pool.query('SELECT FROM adopted_server WHERE id = $1 AND unread_hold_id IS NOT NULL', [id])).rowCount ===
    1;
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
