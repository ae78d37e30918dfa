import { aPriceList } from '@corral/cluster-data/testing';
import { GardenError } from '@corral/garden';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addConnection, declareDraft } from './support/clusters.js';
import { fakeGarden } from './support/fake-garden.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from './support/start-cluster-api.js';

let t: TestClusterApi;
beforeAll(async () => {
  t = await startClusterApi();
  await addConnection(t, t.acme);
  await addConnection(t, t.acme, { ref: 'unpriced' });
  await addConnection(t, t.globex, { ref: 'theirs' });
  const { id: connectionId } = await t.db.connection.findFirstOrThrow({ where: { teamId: t.acme.id, ref: 'main' } });
  const { currency, prices, pricedAt } = aPriceList();
  await t.db.priceList.create({
    data: { connectionId, currency, pricedAt, prices: JSON.parse(JSON.stringify(prices)) },
  });
});
afterAll(() => t.close());

const get = (query = '', team: TestTeam = t.acme, user = team.member) =>
  t.api.as(user).get(team.path(`/catalogue/${query}`));

describe('GET /catalogue/', () => {
  it('shows the prices of the connection in the query', async () => {
    const { body } = await get('?connection=main').expect(200);

    expect(body).toMatchObject({ currency: 'EUR', pricedAt: '2026-11-20T04:00:00.000Z' });
    expect(body.machineTypes[0]).toMatchObject({
      name: 'cpx31',
      regions: [{ name: 'hel1', monthly: '13.1' }, { name: 'fsn1' }],
    });
  });

  it('has no prices without a connection, and until the prices of the connection were read', async () => {
    for (const query of ['', '?connection=unpriced']) {
      expect((await get(query).expect(200)).body).toMatchObject({ currency: null, pricedAt: null });
    }
  });

  it.each(['theirs', 'absent', ''])('refuses the connection %j, which the team does not have', async (ref) => {
    const { body } = await get(`?connection=${ref}`).expect(422);

    expect(body.errors).toEqual([
      {
        pointer: '/query/connection',
        code: 'validation_failed',
        message: 'must be the ref of a connection of the team',
        detail: 'query.connection must be the ref of a connection of the team.',
      },
    ]);
  });

  it('shows the limits of the team with what it uses', async () => {
    await declareDraft(t, t.acme, 'web');
    await t.db.team.update({ where: { id: t.acme.id }, data: { clustersMax: 7, nodesPerClusterMax: 12 } });

    expect((await get().expect(200)).body.limits).toEqual({
      clusters: { used: 1, limit: 7 },
      connections: { used: 2, limit: 50 },
      adoptedServers: { used: 0, limit: 50 },
      nodePoolsPerCluster: 20,
      nodesPerCluster: 12,
    });
    expect((await get('', t.globex).expect(200)).body.limits.clusters).toEqual({ used: 0, limit: 20 });
  });

  it('is answered 502 with Retry-After while the garden has never answered', async () => {
    const garden = { ...fakeGarden(), readCloudProfile: () => Promise.reject(new GardenError('unreachable', 'no')) };
    const other = await startClusterApi({ deps: { garden } });
    try {
      const answer = await other.api.as(other.acme.member).get(other.acme.path('/catalogue/')).expect(502);

      expect(answer.body.code).toBe('upstream_unavailable');
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    } finally {
      await other.close();
    }
  });
});
