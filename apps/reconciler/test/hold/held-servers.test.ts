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
