import { dnsTokenStore, replaceTokenOfName } from '@corral/auth';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { TestUser } from '../support/checked-client.js';
import { addConnection, declareDraft } from '../support/clusters.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

let test: TestClusterApi;
let team: TestTeam;
let shop: string;
beforeAll(async () => {
  test = await startClusterApi();
});
afterAll(() => test.close());
beforeEach(async () => {
  team = await test.createTeam();
  shop = `shop.${team.slug}`;
  await addConnection(test, team);
});

async function givenCluster(name: string): Promise<{ id: string }> {
  await declareDraft(team, name);
  await test.db.auditEntry.deleteMany({ where: { teamId: team.id } });
  test.wakeups.length = 0;
  return test.db.cluster.findUniqueOrThrow({ where: { teamId_name: { teamId: team.id, name } }, select: { id: true } });
}

const path = (cluster: string, rest = '') => team.path(`/clusters/${cluster}/names/${rest}`);
const add = (
  cluster: string,
  name: string,
  { user = team.member, query = '' }: { user?: TestUser; query?: string } = {},
) => test.api.as(user).post(path(cluster, query)).send({ name });
const remove = (cluster: string, name: string) => test.api.as(team.member).delete(path(cluster, `${name}/`));
const list = async (cluster: string) => (await test.api.as(team.member).get(path(cluster)).expect(200)).body.items;
const auditOf = async () =>
  (await test.db.auditEntry.findMany({ where: { teamId: team.id }, orderBy: { id: 'asc' } })).map(
    ({ action, targetName, detail }) => [action, targetName, detail],
  );
const rowOf = (name: string) =>
  test.db.hostedName.findUniqueOrThrow({ where: { teamId_name: { teamId: team.id, name } } });

/** A token as the reconciler makes it. */
const giveToken = async (name: string, cluster: string) => {
  const { id, dnsTokenId } = await rowOf(name);
  return test.db.$transaction((tx) => replaceTokenOfName(tx, { id, team, name, cluster, dnsTokenId }));
};
const isInForce = async (id: string) =>
  (await test.db.dnsToken.findUniqueOrThrow({ where: { id } })).revokedAt === null;

describe('a name on a cluster', () => {
  it('is added with what will be installed, and the reconciler is told', async () => {
    await givenCluster('web');

    const { body, headers } = await add('web', shop).expect(201);

    expect(body).toMatchObject({
      name: shop,
      host: `${shop}.example.test`,
      cluster: 'web',
      state: 'Pending',
      message: '',
      issuer: shop,
      createdBy: { email: team.member.email },
      checkedAt: null,
    });
    expect(body.objects).toContainEqual(expect.objectContaining({ kind: 'Deployment', namespace: 'corral-dns' }));
    expect(headers.location).toBe(path('web', `${shop}/`));
    expect(
      (
        await test.api
          .as(team.member)
          .get(path('web', `${shop}/`))
          .expect(200)
      ).body,
    ).toEqual(body);
    expect(await list('web')).toEqual([body]);
    expect(test.wakeups).toEqual([{ job: 'keep-names', payload: {} }]);
    expect(await auditOf()).toEqual([['cluster.add_name', 'web', { name: shop }]]);
  });

  it.each<[string, () => string, number, string]>([
    ['of another team', () => 'shop.globex', 422, 'validation_failed'],
    ['with a wildcard', () => `*.${team.slug}`, 422, 'validation_failed'],
    ['that another cluster has', () => `docs.${team.slug}`, 409, 'name_taken'],
    ['above one that another cluster has', () => team.slug, 409, 'name_taken'],
  ])('%s is refused, also by a dry run', async (_what, name, status, code) => {
    await givenCluster('web');
    await givenCluster('batch');
    await add('batch', `docs.${team.slug}`).expect(201);

    for (const query of ['', '?dryRun=true']) {
      const { body } = await add('web', name(), { query }).expect(status);
      expect([body.code, body.errors[0].pointer]).toEqual([code, '/name']);
    }
    expect(await list('web')).toEqual([]);
  });

  it('is one of at most ten of the cluster', async () => {
    await givenCluster('web');
    for (let at = 0; at < 10; at += 1) await add('web', `n${at}.${team.slug}`).expect(201);

    const { body } = await add('web', shop).expect(403);

    expect(body.code).toBe('quota_exceeded');
  });

  it('is refused on a cluster that is being deleted, and unknown on one that does not exist', async () => {
    const { id } = await givenCluster('web');
    await test.db.cluster.update({ where: { id }, data: { deletionRequestedAt: new Date() } });

    expect((await add('web', shop).expect(409)).body.code).toBe('cluster_deleting');
    await add('none', shop).expect(404);
    await test.api
      .as(team.member)
      .get(path('web', `${shop}/`))
      .expect(404);
  });

  it('loses its token with the request to remove it, and can be added again once it is gone', async () => {
    await givenCluster('web');
    await givenCluster('batch');
    await add('web', shop).expect(201);
    const { id } = await giveToken(shop, 'web');

    const { body } = await remove('web', shop).expect(202);
    await remove('web', shop).expect(202);

    expect(body).toMatchObject({ name: shop, state: 'Removing' });
    expect(await isInForce(id)).toBe(false);
    expect((await auditOf()).map(([action]) => action)).toEqual([
      'cluster.add_name',
      'dns_token.create',
      'dns_token.revoke',
      'cluster.remove_name',
    ]);
    await add('batch', shop).expect(409);
    await test.db.hostedName.deleteMany({ where: { teamId: team.id } });
    await add('batch', shop).expect(201);
  });

  it('is forgotten at once where nothing of it is in the cluster', async () => {
    await givenCluster('web');
    await add('web', shop).expect(201);

    await remove('web', shop).expect(202);

    expect(await list('web')).toEqual([]);
    await remove('web', shop).expect(404);
    await add('web', shop).expect(201);
  });

  it('loses its token with its cluster', async () => {
    const cluster = await givenCluster('web');
    await add('web', shop).expect(201);
    const { id } = await giveToken(shop, 'web');
    expect(await isInForce(id)).toBe(true);

    await test.db.cluster.delete({ where: { id: cluster.id } });

    expect(await isInForce(id)).toBe(false);
  });

  it('has a token that covers only it, is replaced by the next one, and does not count among those of the team', async () => {
    await givenCluster('web');
    await add('web', shop).expect(201);
    const first = await giveToken(shop, 'web');

    const second = await giveToken(shop, 'web');

    expect([await isInForce(first.id), await isInForce(second.id)]).toEqual([false, true]);
    expect(await dnsTokenStore(test.db).isInForce(team, second.text)).toBe(true);
    expect(await dnsTokenStore(test.db).countActive(team)).toBe(0);
    const { body } = await team.asAdmin.get(`/dns-tokens/${second.id}/`).expect(200);
    expect(body).toMatchObject({ name: `${shop} on web`, withinName: shop, withinTypes: [], createdBy: null });
    for (const name of ['one', 'two', 'three', 'four', 'five']) await dnsTokenStore(test.db).issueToken(team, { name });
  });
});
