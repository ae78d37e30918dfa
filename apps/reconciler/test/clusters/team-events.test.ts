import { silentLog } from '@corral/service';
import { deleteRows } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sweepTeamEvents } from '../../src/clusters/sweep-team-events.js';
import { type ClusterRows, openClusterRows } from '../support/cluster-rows.js';

let at: ClusterRows;
let teamId: string;
beforeAll(async () => {
  at = await openClusterRows();
});
afterAll(() => at.close());
beforeEach(async () => {
  await deleteRows(at.pool);
  teamId = (await at.addTeam()).id;
});

const addEvent = (age: string) =>
  at.pool.query(
    `INSERT INTO team_event (team_id, kind, target_id, target_name, change, created_at)
     VALUES ($1, 'Cluster', gen_random_uuid(), $2::text, 'changed', now() - $2::text::interval)`,
    [teamId, age],
  );
const ages = async () =>
  (
    await at.pool.query('SELECT target_name AS age FROM team_event WHERE team_id = $1 ORDER BY created_at', [teamId])
  ).rows.map(({ age }) => age);
/** In batches of two, so that there are several. */
const sweep = (signal = new AbortController().signal) =>
  sweepTeamEvents({ pool: at.pool, log: silentLog, batch: 2 })(signal);

describe('live changes', () => {
  it('go after 24 hours, however many there are', async () => {
    for (const age of ['25 hours', '26 hours', '27 hours', '28 hours', '90 days', '23 hours', '0 hours']) {
      await addEvent(age);
    }

    expect(await sweep()).toBe(5);

    expect(await ages()).toEqual(['23 hours', '0 hours']);
  });

  it('stay when there is no time left', async () => {
    await addEvent('60 hours');

    expect(await sweep(AbortSignal.abort())).toBe(0);

    expect(await ages()).toEqual(['60 hours']);
  });
});
