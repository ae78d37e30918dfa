import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addConnection, declare, declareDraft } from '../support/clusters.js';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

let t: TestClusterApi;
beforeAll(async () => {
  t = await startClusterApi();
});
afterAll(() => t.close());

const locksOf = async (slug: string) =>
  (await t.pool.query('SELECT FROM team_change_lock JOIN team ON team.id = team_id WHERE slug = $1', [slug])).rowCount;

describe('the lock row of a team', () => {
  it('exists for every team, however it was created', async () => {
    await t.createTeam('made');
    await t.pool.query(`INSERT INTO team (slug) VALUES ('inserted')`);

    expect([await locksOf('made'), await locksOf('inserted')]).toEqual([1, 1]);
  });

  it('is deleted with the team', async () => {
    await t.pool.query(`INSERT INTO team (slug) VALUES ('gone')`);
    await t.pool.query(`DELETE FROM team WHERE slug = 'gone'`);

    expect(await locksOf('gone')).toBe(0);
  });

  it('is created by a change when it is missing, also by concurrent ones', async () => {
    await addConnection(t, t.globex);
    await t.pool.query('DELETE FROM team_change_lock');

    await Promise.all(['a', 'b', 'c'].map((name) => declareDraft(t, t.globex, name)));

    expect([await locksOf('globex'), await locksOf('acme')]).toEqual([1, 0]);
  });

  it('stores when the newest change began, by the database’s clock', async () => {
    const team = await t.createTeam('timed');
    await addConnection(t, team);

    const { operation } = await declareDraft(t, team, 'web');

    const { rows } = await t.pool.query('SELECT changed_at FROM team_change_lock WHERE team_id = $1', [team.id]);
    expect(rows[0].changed_at.toISOString()).toBe(operation.createdAt);
  });
});

describe('a change of a connection', () => {
  it('locks its clusters before the connection', async () => {
    const team = await t.createTeam('ordered');
    await addConnection(t, team);
    await declare(t, team, 'web');
    const prices = await t.pool.connect();
    await prices.query('BEGIN');
    await prices.query(`SELECT FROM cluster WHERE team_id = $1 FOR NO KEY UPDATE`, [team.id]);

    const changed = t.api
      .as(team.admin)
      .put(team.path('/connections/main/'))
      .send({ spec: { name: 'main', provider: 'hcloud', providerConfig: {}, token: 'another' } })
      .then((answer) => answer);
    await waitFor('the change to wait for the cluster', async () => {
      const { rowCount } = await t.pool.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return rowCount === 1;
    });
    await prices.query('SELECT FROM connection WHERE team_id = $1 FOR UPDATE NOWAIT', [team.id]);
    await prices.query('COMMIT');
    prices.release();

    expect((await changed).status).toBe(200);
  });
});
