import { hashDnsToken } from '@corral/auth';
import { objectsOfName } from '@corral/domain';
import { GardenError, type GardenErrorKind, type ObjectManifest, type ShootObjects } from '@corral/garden';
import { silentLog } from '@corral/service';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { keepNames, type NamePlace } from '../../src/clusters/names/keep-names.js';
import { nameStore } from '../../src/clusters/names/store.js';
import type { TestCluster } from '../support/cluster-rows.js';
import { type Clusters, startClusters } from '../support/start-clusters.js';
import { untilEnded } from '../support/until.js';

const place: NamePlace = { zone: 'example.test', endpoint: 'https://dns.test/v1', acmeServer: 'https://acme.test/dir' };
const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'corral-dns' } };

let at: Clusters;
let cluster: TestCluster;
let shoot: { namespace: string; name: string };
let shop: string;
beforeAll(async () => {
  at = await startClusters();
  const { team, connectionId } = await at.addConnectionOfTeam();
  cluster = await at.declare(team, connectionId);
  const reconciler = await at.start();
  await reconciler.wake(cluster.id);
  await untilEnded(at, cluster.operationId);
  // Some tests need what a reconciler does by itself, the others no other one.
  await addName(`first.${team.slug}`);
  await waitFor('a reconciler to find the name', async () => (await nameOf(`first.${team.slug}`)).checkedAt !== null);
  await reconciler.stop();
  const [inNamespace, name] = await at.placeOf(cluster);
  shoot = { namespace: inNamespace, name };
  shop = `shop.${team.slug}`;
});
afterAll(() => at.close());
beforeEach(async () => {
  await at.prisma.hostedName.updateMany({ data: { removalRequestedAt: new Date(), dueAt: new Date(0) } });
  await keep();
  await addName(shop);
});

const addName = (name: string) =>
  at.prisma.hostedName.create({ data: { teamId: cluster.team.id, clusterId: cluster.id, name, dueAt: new Date(0) } });
const nameOf = (name: string) =>
  at.prisma.hostedName.findUniqueOrThrow({ where: { teamId_name: { teamId: cluster.team.id, name } } });

const objectOf = (kind: string, name: string) => {
  const { records } = objectsOfName({ ...place, name }, null);
  return records.find((each) => each.kind === kind) as ObjectManifest;
};
const deployment = (name: string) => objectOf('Deployment', name);
const secret = (name: string) => objectOf('Secret', name);

/** One pass over all that is due, or is made due. */
async function keep({ objects = at.garden.objects, ofInstallation = place as NamePlace | null } = {}): Promise<void> {
  await at.prisma.hostedName.updateMany({ data: { dueAt: new Date(0) } });
  const deps = {
    store: nameStore(at.prisma),
    garden: { objects },
    place: ofInstallation,
    log: silentLog,
    random: () => 0,
  };
  await keepNames(deps)(new AbortController().signal);
}
const read = (object: Parameters<ShootObjects['read']>[1]) => at.garden.objects.read(shoot, object);

/** The objects of clusters, where something happens before one of this kind is applied. */
const before = (kind: string, work: () => Promise<unknown>): ShootObjects => ({
  ...at.garden.objects,
  async apply(of, manifest, ...rest) {
    if (manifest.kind === kind) await work();
    return at.garden.objects.apply(of, manifest, ...rest);
  },
});
const failing = (kind: GardenErrorKind) => () => Promise.reject(new GardenError(kind, 'no', { fromShoot: true }));

/** The text in the cluster, and whether it is a token in force of the name. */
async function tokenInCluster() {
  const { data } = (await read(secret(shop))) as { data: { token: string } };
  const text = atob(data.token);
  const hash = new Uint8Array(hashDnsToken(text));
  const row = await at.prisma.dnsToken.findUnique({ where: { hash }, include: { hostedName: true } });
  return { text, isInForce: row !== null && row.revokedAt === null && row.hostedName?.name === shop };
}
const tokens = async () => {
  const where = { teamId: cluster.team.id, withinName: shop };
  const rows = await at.prisma.dnsToken.findMany({ where, orderBy: { createdAt: 'asc' } });
  return rows.map(({ revokedAt }) => (revokedAt === null ? 'in force' : 'revoked'));
};
const expectLast = async () => expect((await tokens()).toReversed().indexOf('in force')).toBe(0);
const inForce = async () => (await tokens()).filter((state) => state === 'in force').length;

/** What the installation of cert-manager and its webhook leaves in a cluster. */
async function installCertManager(): Promise<void> {
  const definition = 'clusterissuers.cert-manager.io';
  for (const [apiVersion, kind, name] of [
    ['apiextensions.k8s.io/v1', 'CustomResourceDefinition', definition],
    ['apiregistration.k8s.io/v1', 'APIService', 'v1alpha1.acme.hetzner.com'],
  ] as const) {
    await at.garden.objects.apply(shoot, { apiVersion, kind, metadata: { name } });
  }
}

describe('a name on a cluster', () => {
  it('gets its objects, with a token that works and stays', async () => {
    await keep();
    const first = await tokenInCluster();
    await keep();

    expect(first.isInForce).toBe(true);
    expect(await tokenInCluster()).toEqual(first);
    expect(await inForce()).toBe(1);
    expect(await read(deployment(shop))).toMatchObject({
      spec: { template: { metadata: { annotations: { 'corral.dev/dns-token': (await nameOf(shop)).dnsTokenId } } } },
    });
    expect(await nameOf(shop)).toMatchObject({ state: 'Pending', failures: 0, checkedAt: expect.any(Date) });
    expect((await nameOf(shop)).message).toContain('install cert-manager');
  });

  it('gets another token when its own is revoked, and when the Secret was changed', async () => {
    await keep();
    const { text: first } = await tokenInCluster();

    await at.prisma.dnsToken.updateMany({ where: { withinName: shop }, data: { revokedAt: new Date() } });
    await keep();
    const { text: second, isInForce } = await tokenInCluster();
    await at.garden.objects.apply(shoot, { ...secret(shop), data: { token: btoa(first) } }, { force: true });
    await keep();

    expect([second === first, isInForce]).toEqual([false, true]);
    expect((await tokenInCluster()).isInForce).toBe(true);
    expect(await inForce()).toBe(1);
  });

  it('has one token in force when a pass ends between the database and the cluster', async () => {
    const objects = before('Secret', failing('unreachable'));

    await keep({ objects });
    const message = (await nameOf(shop)).message;
    await keep();

    expect(message).toContain('does not answer');
    expect((await tokenInCluster()).isInForce).toBe(true);
    expect(await inForce()).toBe(1);
    await expectLast();
  });

  it('gets no token from a pass whose claim has ended', async () => {
    const store = nameStore(at.prisma);
    await at.prisma.hostedName.updateMany({ data: { dueAt: new Date(0) } });
    const [due] = await store.claimDue(1, 60_000);
    await at.prisma.hostedName.updateMany({ data: { dueAt: new Date() } });

    expect(due && (await store.replaceToken(due))).toBeNull();
  });

  it('leaves nothing when its removal is requested while a pass applies it', async () => {
    // The cluster API requests the removal like this, and the claim of the pass goes on.
    const data = { removalRequestedAt: new Date(), state: 'Removing' };
    const objects = before('Secret', () => at.prisma.hostedName.updateMany({ where: { name: shop }, data }));

    await keep({ objects });
    const { state, dueAt } = await nameOf(shop);
    await keep();

    expect([state, dueAt.getTime() <= Date.now()]).toEqual(['Removing', true]);
    expect(await at.prisma.hostedName.count({ where: { name: shop } })).toBe(0);
    expect(await read(deployment(shop))).toBeNull();
    expect(await inForce()).toBe(0);
  });

  it('comes back when somebody removes a part of it', async () => {
    await keep();
    await at.garden.objects.delete(shoot, deployment(shop));

    await keep();

    expect(await read(deployment(shop))).not.toBeNull();
  });

  it('says which object a cluster refuses', async () => {
    const objects = before('Deployment', failing('refused'));

    await keep({ objects });

    expect(await nameOf(shop)).toMatchObject({ state: 'Pending', failures: 1 });
    expect((await nameOf(shop)).message).toContain(`refuses Deployment corral-dns/${deployment(shop).metadata.name}`);
  });

  it.each([
    ['a hibernated cluster', `UPDATE cluster SET phase = 'Hibernated' WHERE team_id = $1`, 'hibernated'],
    [
      'a cluster under deletion',
      'UPDATE cluster SET deletion_requested_at = now() WHERE team_id = $1',
      'being deleted',
    ],
    ['a suspended team', 'UPDATE team SET suspended_at = now() WHERE id = $1', 'suspended'],
  ])('waits on %s, and gets no token', async (_what, change, message) => {
    await at.pool.query(change, [cluster.team.id]);
    await keep();

    expect((await nameOf(shop)).message).toContain(message);
    expect(await inForce()).toBe(0);
    await at.pool.query(`UPDATE cluster SET phase = 'Ready', deletion_requested_at = NULL WHERE id = $1`, [cluster.id]);
    await at.pool.query('UPDATE team SET suspended_at = NULL WHERE id = $1', [cluster.team.id]);
  });

  it('goes with its objects and its token, and the last one with what they shared', async () => {
    const docs = `docs.${cluster.team.slug}`;
    await addName(docs);
    await keep();
    const remove = (name: string) =>
      at.prisma.hostedName.updateMany({ where: { name }, data: { removalRequestedAt: new Date(), state: 'Removing' } });

    await remove(shop);
    await keep();

    expect(await at.prisma.hostedName.count({ where: { name: shop } })).toBe(0);
    expect(await inForce()).toBe(0);
    expect(await read(secret(shop))).toBeNull();
    expect(await read(deployment(shop))).toBeNull();
    expect(await read(deployment(docs))).not.toBeNull();
    expect(await read(namespace)).not.toBeNull();
    await remove(docs);
    await keep();
    expect(await read(namespace)).toBeNull();
  });

  it('is ready once cert-manager is installed and its issuer is ready', async () => {
    await installCertManager();
    await keep();
    const waiting = await nameOf(shop);
    at.cloud.admin.garden.putObject(shoot.namespace, shoot.name, `cert-manager.io/clusterissuers//${shop}`, {
      ...(await read({ apiVersion: 'cert-manager.io/v1', kind: 'ClusterIssuer', metadata: { name: shop } })),
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    } as never);

    await keep();

    expect([waiting.state, waiting.message]).toEqual(['Pending', 'Records work. The ClusterIssuer is not ready yet.']);
    expect(await nameOf(shop)).toMatchObject({ state: 'Ready', message: '' });
    const { text } = await tokenInCluster();
    const { name } = secret(shop).metadata;
    expect(await read({ ...secret(shop), metadata: { namespace: 'cert-manager', name } })).toMatchObject({
      data: { token: btoa(text) },
    });
  });

  it('neither changes nor removes an issuer that somebody else made', async () => {
    const issuer = { apiVersion: 'cert-manager.io/v1', kind: 'ClusterIssuer', metadata: { name: shop } };
    await installCertManager();
    await keep();
    await at.garden.objects.delete(shoot, issuer);
    await at.garden.objects.apply(shoot, { ...issuer, spec: { selfSigned: {} } });

    await keep();
    const { state, message } = await nameOf(shop);
    await at.prisma.hostedName.updateMany({ where: { name: shop }, data: { removalRequestedAt: new Date() } });
    await keep();

    expect([state, message]).toEqual(['Pending', expect.stringContaining(`remove ClusterIssuer ${shop}`)]);
    expect(await at.prisma.hostedName.count({ where: { name: shop } })).toBe(0);
    expect(await read(issuer)).toMatchObject({ spec: { selfSigned: {} } });
    await at.garden.objects.delete(shoot, issuer);
  });
});
