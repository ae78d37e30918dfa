import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aClusterSpec } from '../support/a-cluster.js';
import { addConnection, declare, everythingOf, runningCluster } from '../support/clusters.js';
import { givenServers, join } from '../support/given-servers.js';
import { own, type PoolCalls, poolCalls, withOwn } from '../support/pools-on-servers.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

let t: TestClusterApi;
let team: TestTeam;
let calls: PoolCalls;
const servers = (count: number, more: Parameters<typeof givenServers>[3] = {}) => givenServers(t, team, count, more);
const everything = () => everythingOf(t, team);

beforeAll(async () => {
  t = await startClusterApi({ config: { gardenFeatures: new Set(['adopted-nodes'] as const) } });
});
afterAll(() => t.close());
beforeEach(async () => {
  team = await t.createTeam(`t-${randomUUID().slice(0, 8)}`);
  await addConnection(t, team);
  calls = poolCalls(t, team);
});

describe('the entity tag of a pool on adopted servers', () => {
  it('changes with its ready nodes, unlike that of the cluster', async () => {
    const numbers = await servers(2);
    await runningCluster(t, team, 'web', withOwn(own(2)));
    const tagOf = async () => (await calls.getPool().expect(200)).headers.etag as string;
    const clusterTag = async () => (await t.api.as(team.member).get(calls.clusterPath())).headers.etag;
    const [before, ofCluster] = [await tagOf(), await clusterTag()];

    await join(t, numbers.slice(0, 1));

    const after = await tagOf();
    expect(after).not.toBe(before);
    expect(await clusterTag()).toBe(ofCluster);
    // Nodes are status, not declaration, so If-Match ignores them.
    const changed = await calls.putPool(own(1)).set('If-Match', before).expect(200);
    const now = await tagOf();
    expect(changed.headers.etag).toBe(now);
    expect((await calls.putPool(own(2)).set('If-Match', after).expect(412)).body.detail).toContain(now);
    await calls
      .removePool()
      .set('If-Match', changed.headers.etag as string)
      .expect(204);
  });
});

describe('a dry run', () => {
  it('answers the result and writes nothing', async () => {
    await servers(2);
    await runningCluster(t, team, 'web');
    const before = await everything();
    t.wakeups.length = 0;

    const { body } = await calls.putPool(own(2), { query: '?dryRun=true' }).expect(200);

    expect(body.resource.status).toEqual({ pet: true, backingReady: 0 });
    expect(await everything()).toEqual(before);
    expect(t.wakeups).toEqual([]);
  });

  it('applies the same rules', async () => {
    await servers(1);
    await declare(t, team, 'shop', withOwn(own(1)));
    const dry = (maximum: number) => calls.put(aClusterSpec(withOwn(own(maximum))), 'web', '?dryRun=true');

    expect((await dry(1).expect(409)).body.code).toBe('server_claimed');
    expect((await dry(2).expect(422)).body.code).toBe('invalid_node_pool');
  });
});

describe('the cost of a pool on adopted servers', () => {
  it('is the price of all its servers, even while the cluster is hibernated', async () => {
    await servers(2);
    const { id: connectionId } = await t.db.connection.findFirstOrThrow({ where: { teamId: team.id } });
    const prices = {
      serverTypes: { cx22: { hel1: { hourly: '0.006', monthly: '3.79' } } },
      primaryIpv4: { hel1: { hourly: '0', monthly: '0' } },
    };
    await t.db.priceList.create({ data: { connectionId, currency: 'EUR', prices, pricedAt: new Date() } });
    await runningCluster(t, team, 'web', { ...withOwn(own(2)), hibernated: true });

    const { cost } = (await t.api.as(team.member).get(calls.clusterPath()).expect(200)).body.status;

    expect(cost.items[1]).toMatchObject({
      name: 'own',
      machineType: 'cx22',
      minimum: 2,
      maximum: 2,
      reason: null,
      monthly: { minimum: '7.58', maximum: '7.58' },
    });
  });
});
