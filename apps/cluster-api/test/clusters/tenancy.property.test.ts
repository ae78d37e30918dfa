import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aClusterSpec } from '../support/a-cluster.js';
import { addConnection, runningCluster } from '../support/clusters.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

describe('two teams', () => {
  let t: TestClusterApi;

  beforeAll(async () => {
    t = await startClusterApi();
    await t.db.team.updateMany({ data: { clustersMax: 1_000 } });
    for (const team of [t.acme, t.globex]) {
      await addConnection(t, team);
      await runningCluster(t, team, 'both', { plan: team === t.acme ? 'monthly' : 'annual' });
    }
    await runningCluster(t, t.acme, 'ours');
    await runningCluster(t, t.globex, 'theirs');
  });
  afterAll(() => t.close());

  it('get the same answer for each other’s paths as for an absent team', async () => {
    const { id } = await t.db.operation.findFirstOrThrow({ where: { teamId: t.globex.id } });
    const stranger = t.api.as(t.acme.admin);
    for (const rest of ['/clusters/', '/clusters/theirs/', '/operations/', `/operations/${id}/`]) {
      const theirs = await stranger.get(t.globex.path(rest)).expect(404);
      const nobodys = await stranger.get(`/api/v1/teams/nobody${rest}`).expect(404);

      expect({ ...theirs.body, instance: null }).toEqual({ ...nobodys.body, instance: null });
    }
  });

  it('can have clusters with the same name', async () => {
    const send = (team: TestTeam) =>
      t.api.as(team.member).put(team.path('/clusters/same/')).send({ spec: aClusterSpec() });

    const [one, other] = [(await send(t.acme).expect(202)).body, (await send(t.globex).expect(202)).body];

    expect(one.resource.metadata.id).not.toBe(other.resource.metadata.id);
    expect([one.resource.metadata.team, other.resource.metadata.team]).toEqual(['acme', 'globex']);
  });

  it('have separate quotas', async () => {
    const [full, free] = [await t.createTeam('full'), await t.createTeam('free')];
    await t.db.team.update({ where: { id: full.id }, data: { clustersMax: 0 } });
    const send = async (team: TestTeam) => {
      await addConnection(t, team);
      return t.api.as(team.member).put(team.path('/clusters/one-more/')).send({ spec: aClusterSpec() });
    };

    expect(await send(full)).toMatchObject({ status: 403, body: { code: 'quota_exceeded' } });
    expect((await send(free)).status).toBe(202);
  });
});
