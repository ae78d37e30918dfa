import { aPriceList } from '@corral/cluster-data/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import { addConnection, converge, declare, runningCluster } from '../support/clusters.js';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

let t: TestClusterApi;
let names = 0;
let name: string;
const path = (rest = '') => t.acme.path(`/clusters/${name}/${rest}`);
const as = () => t.api.as(t.acme.member);
const put = (spec: object, query = '') => as().put(`${path()}${query}`).send({ spec });
const pool = (of: string, spec: object, query = '') =>
  as()
    .put(`${path(`node-pools/${of}/`)}${query}`)
    .send({ spec });

beforeAll(async () => {
  t = await startClusterApi();
  await addConnection(t, t.acme);
});
afterAll(() => t.close());
beforeEach(async () => {
  names += 1;
  name = `web-${names}`;
  await priced(aPriceList());
});

/** Stores a price list as the reconciler does. */
async function priced({ currency, prices, pricedAt }: ReturnType<typeof aPriceList>): Promise<void> {
  const { id: connectionId } = await t.db.connection.findFirstOrThrow({ where: { teamId: t.acme.id } });
  const columns = { currency, pricedAt, prices: JSON.parse(JSON.stringify(prices)) };
  await t.db.priceList.upsert({
    where: { connectionId },
    create: { connectionId, ...columns },
    update: columns,
  });
}
const range = (minimum: string | null, maximum: string | null) => ({ minimum, maximum });
const priorities = async () =>
  (await as().get(path('node-pools/')).expect(200)).body.items.map(
    (item: { name: string; autoscalerPriority: number }) => [item.name, item.autoscalerPriority],
  );

describe('the cost of a cluster', () => {
  it('is in its status, also in lists', async () => {
    await declare(t, t.acme, name);

    const { body } = await as().get(path()).expect(200);

    const cost = {
      currency: 'EUR',
      hourly: range('0.0218', '0.0654'),
      monthly: range('13.6', '40.8'),
      items: [{ kind: 'nodePool', name: 'general', hourly: range('0.0218', '0.0654'), reason: null }],
      pricedAt: '2026-11-20T04:00:00.000Z',
    };
    expect(body.status.cost).toMatchObject(cost);
    const { items } = (await as().get(t.acme.path('/clusters/')).expect(200)).body;
    expect(
      items.find(({ metadata }: { metadata: { name: string } }) => metadata.name === name).status.cost,
    ).toMatchObject(cost);
  });

  it('is unknown with a reason until prices were read', async () => {
    await t.db.priceList.deleteMany();
    await declare(t, t.acme, name);

    const { cost } = (await as().get(path()).expect(200)).body.status;

    expect(cost).toMatchObject({ currency: null, pricedAt: null, monthly: range(null, null) });
    expect(cost.items[0].reason).toBe('No price list is available.');
  });
});

describe('a dry run', () => {
  it('of a new cluster shows its whole cost as the difference', async () => {
    const { body } = await put(aClusterSpec(), '?dryRun=true').expect(200);

    expect(body.cost.monthly).toEqual(range('13.6', '40.8'));
    expect(body.costDifference).toEqual({ hourly: range('0.0218', '0.0654'), monthly: range('13.6', '40.8') });
  });

  it('of a change shows the new cost and the difference', async () => {
    await runningCluster(t, t.acme, name);

    const { body } = await put(aClusterSpec({ nodePools: [aPool({ maximum: 5 })] }), '?dryRun=true').expect(200);

    expect(body.cost.monthly).toEqual(range('13.6', '68'));
    expect(body.costDifference).toEqual({ hourly: range('0', '0.0436'), monthly: range('0', '27.2') });
  });

  it('of hibernation shows what it saves', async () => {
    await runningCluster(t, t.acme, name);

    const { body } = await put(aClusterSpec({ hibernated: true }), '?dryRun=true').expect(200);

    expect(body.costDifference).toEqual({ hourly: range('-0.0218', '-0.0654'), monthly: range('-13.6', '-40.8') });
  });

  it('of a pool shows what it adds to its cluster', async () => {
    await runningCluster(t, t.acme, name);

    const big = aPool({ name: 'big', machineType: 'cpx51', maximum: 1 });
    const { body } = await pool('big', big, '?dryRun=true').expect(200);

    expect(body.costDifference).toEqual({ hourly: range('0.0887', '0.0887'), monthly: range('55.4', '55.4') });
    expect(body.resource.autoscalerPriority).toBe(0);
  });

  it('of a deletion shows what it saves', async () => {
    await runningCluster(t, t.acme, name);

    const { body } = await as().delete(`${path()}?dryRun=true`).expect(200);

    expect(body.costDifference).toEqual({ hourly: range('-0.0218', '-0.0654'), monthly: range('-13.6', '-40.8') });
  });

  it('shows an unknown difference when prices are unknown', async () => {
    await t.db.priceList.deleteMany();

    const { body } = await put(aClusterSpec(), '?dryRun=true').expect(200);

    expect(body.costDifference).toEqual({ hourly: range(null, null), monthly: range(null, null) });
  });
});

describe('the priorities of pools', () => {
  const two = () =>
    aClusterSpec({ nodePools: [aPool({ name: 'dear', machineType: 'cpx51' }), aPool({ name: 'thrifty' })] });

  it('are computed from prices when a change is accepted and kept when prices change later', async () => {
    await put(two()).expect(202);
    expect(await priorities()).toEqual([
      ['dear', 0],
      ['thrifty', 1],
    ]);
    const { body } = await as().get(path('node-pools/thrifty/')).expect(200);
    expect(body.autoscalerPriority).toBe(1);
    const before = (await as().get(path()).expect(200)).body.metadata;

    const { cpx31, cpx51 } = aPriceList().prices.serverTypes;
    await priced(aPriceList({ serverTypes: { cpx31: cpx51 ?? {}, cpx51: cpx31 ?? {} } }));

    expect(await priorities()).toEqual([
      ['dear', 0],
      ['thrifty', 1],
    ]);
    expect((await put(two()).expect(200)).body.metadata.generation).toBe(before.generation);

    await converge(t, t.acme, name);
    await pool('thrifty', aPool({ name: 'thrifty', maximum: 4 })).expect(200);
    expect(await priorities()).toEqual([
      ['dear', 1],
      ['thrifty', 0],
    ]);
  });

  it('are not part of the declaration', async () => {
    const first = (await put(two()).expect(202)).body.operation.desiredHash;
    name = `${name}-other`;
    await priced(aPriceList({ serverTypes: {} }));

    expect((await put(two()).expect(202)).body.operation.desiredHash).toBe(first);
    expect(await priorities()).toEqual([
      ['dear', 0],
      ['thrifty', 0],
    ]);
  });
});
