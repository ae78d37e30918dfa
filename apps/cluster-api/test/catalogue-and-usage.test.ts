import { aPriceList } from '@corral/cluster-data/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addConnection, declareDraft } from './support/clusters.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from './support/start-cluster-api.js';

describe('GET /catalogue/', () => {
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
    await declareDraft(t.acme, 'web');
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
});

describe('GET /usage/', () => {
  const NOW = Date.parse('2026-11-24T10:20:00.000Z');
  let test: TestClusterApi;
  beforeAll(async () => {
    test = await startClusterApi({ deps: { now: () => NOW } });
    await givenHour(test.acme, '2026-11-24T09:00Z', { requests: 12, nodes: 3 });
    await givenHour(test.acme, '2026-11-24T10:00Z', { requests: 4, nodes: 5, isFinal: false });
    await givenHour(test.acme, '2026-11-20T23:00Z', { requests: 30, nodes: 1 });
    await givenHour(test.globex, '2026-11-24T09:00Z', { requests: 999, nodes: 99 });
  });
  afterAll(() => test.close());

  interface Given {
    readonly requests: number;
    readonly nodes: number;
    readonly isFinal?: boolean;
  }

  const givenHour = (team: TestTeam, hour: string, { requests, nodes, isFinal = true }: Given) =>
    test.db.usageHour.create({
      data: {
        teamId: team.id,
        hour: new Date(hour),
        isFinal,
        countedAt: new Date(hour),
        requests,
        writes: 2,
        refusedWrites: 1,
        sampledAt: new Date(hour),
        records: 40,
        recordsLimit: 200,
        dnsTokens: 2,
        clusters: 1,
        nodes,
        costMinimum: '13.6',
        costMaximum: '40.8',
        costCurrency: 'EUR',
      },
    });

  const get = (query = '', team = test.acme, user = team.member) => test.api.as(user).get(team.path(`/usage/${query}`));
  const read = async (query = '', team = test.acme) => (await get(query, team).expect(200)).body;
  it('shows the last 7 days in hours, with the current hour as incomplete', async () => {
    const { step, from, to, points } = await read();

    expect({ step, from, to }).toEqual({
      step: 'hour',
      from: '2026-11-17T11:00:00.000Z',
      to: '2026-11-24T11:00:00.000Z',
    });
    expect(points).toHaveLength(168);
    expect(points.at(-2)).toEqual({
      from: '2026-11-24T09:00:00.000Z',
      complete: true,
      recordedHours: 1,
      requests: 12,
      writes: 2,
      refusedWrites: 1,
      records: { used: 40, limit: 200 },
      dnsTokens: 2,
      clusters: 1,
      nodes: 3,
      cost: { currency: 'EUR', minimum: '13.6', maximum: '40.8' },
    });
    expect(points.at(-1)).toMatchObject({ complete: false, requests: 4, nodes: 5 });
    expect(points.at(-3)).toMatchObject({ recordedHours: 0, requests: null, nodes: null });
  });

  it('shows what the sleep of each cluster has saved', async () => {
    await addConnection(test, test.acme);
    await declareDraft(test.acme, 'web');
    expect((await read()).savedBySleep).toEqual([]);
    const saved = { savedAmount: '41.2967', savedCurrency: 'EUR', savedSince: new Date(NOW) };
    await test.db.cluster.updateMany({ where: { name: 'web' }, data: saved });

    expect((await read()).savedBySleep).toEqual([
      { cluster: 'web', since: '2026-11-24T10:20:00.000Z', amount: '41.30', currency: 'EUR' },
    ]);
    expect((await read('', test.globex)).savedBySleep).toEqual([]);
  });

  it('shows days', async () => {
    const { points } = await read('?step=day&from=2026-11-20T12:00:00Z');

    expect(
      points.map(({ from, requests }: { from: string; requests: number }) => [from.slice(8, 10), requests]),
    ).toEqual([
      ['20', 30],
      ['21', null],
      ['22', null],
      ['23', null],
      ['24', 16],
    ]);
  });

  it.each([
    ['from=2026-11-24T10:00:00Z&to=2026-11-24T09:00:00Z', '/query/to'],
    ['to=2026-11-24T11:00:01Z', '/query/to'],
  ])('refuses %s', async (query, pointer) => {
    const { body } = await get(`?${query}`).expect(422);

    expect(body).toMatchObject({ code: 'validation_failed', errors: [{ pointer }] });
  });
});
