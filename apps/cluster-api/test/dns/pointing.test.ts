import { randomUUID } from 'node:crypto';
import { recordAddresses } from '@corral/cluster-data';
import { asClusterId, asServerId, asTeamId } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aPool } from '../support/a-cluster.js';
import { type ClusterTest, freshName, startWithConnection } from '../support/clusters.js';
import { givenZone, ZONE, ZONE_ID } from '../support/given-audit.js';
import { givenServers } from '../support/given-servers.js';

let t: ClusterTest;
beforeAll(async () => {
  t = await startWithConnection();
  await givenZone(t);
});
afterAll(() => t.close());

const set = (name: string, type: string, ...values: string[]) => ({ zone: ZONE, name, type, values });

/** Puts a record set into the mirror. */
async function givenSet(name: string, type: string, ...values: string[]): Promise<void> {
  const body = JSON.stringify({ records: values.map((value) => ({ value, comment: '' })) });
  await t.pool.query(
    `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [ZONE_ID, name, type, name.slice(name.lastIndexOf('.') + 1), values.length, body],
  );
}

interface Had {
  readonly node?: string;
  readonly balancer?: string;
  readonly pool?: string;
}
const found = ({ node, balancer, pool = 'general' }: Had) => [
  ...(node === undefined ? [] : [{ address: node, kind: 'node' as const, name: 'n1', pool }]),
  ...(balancer === undefined
    ? []
    : [{ address: balancer, kind: 'loadBalancer' as const, name: 'web/edge', pool: null }]),
];

/** A running cluster that was found to have these addresses. */
async function givenCluster(had: Had, spec = {}) {
  const name = freshName(t);
  await t.clusters.declare(name, spec);
  await t.clusters.converge(name);
  const { id } = await t.db.cluster.findFirstOrThrow({ where: { teamId: t.acme.id, name } });
  const read = (now: Had) =>
    t.db.$transaction((tx) =>
      recordAddresses(tx, { teamId: asTeamId(t.acme.id), clusterId: asClusterId(id), name }, found(now)),
    );
  await read(had);
  return { name, read, path: (rest = '') => t.acme.path(`/clusters/${name}/${rest}`) };
}

describe('a plan of a change', () => {
  it('names the record sets that lead to what the change takes away', async () => {
    const nodePools = [aPool({ name: 'general' }), aPool({ name: 'batch' })];
    const cluster = await givenCluster({ node: '192.0.2.1', pool: 'batch', balancer: '2001:DB8::1' }, { nodePools });
    await givenSet('*.acme', 'A', '192.0.2.1', '192.0.2.77');
    await givenSet('acme', 'AAAA', '2001:db8:0::1');
    await givenSet('other.acme', 'A', '192.0.2.78');
    await givenSet('www.globex', 'A', '192.0.2.1');
    const member = t.api.as(t.acme.member);
    const [ofNode, ofBalancer] = [set('*.acme', 'A', '192.0.2.1'), set('acme', 'AAAA', '2001:db8:0::1')];

    const deleted = await member.delete(`${cluster.path()}?dryRun=true`).expect(200);
    const asleep = await member.post(`${cluster.path('hibernate/')}?dryRun=true`).expect(200);
    const smaller = await member.delete(`${cluster.path('node-pools/batch/')}?dryRun=true`).expect(200);
    const same = await member.delete(`${cluster.path('node-pools/general/')}?dryRun=true`).expect(200);

    expect(deleted.body.recordSets).toEqual([ofNode, ofBalancer]);
    expect(asleep.body.recordSets).toEqual([ofNode, ofBalancer]);
    expect(smaller.body.recordSets).toEqual([ofNode]);
    expect(same.body.recordSets).toEqual([]);
  });

  it('names those that lead to a server that is deregistered', async () => {
    const [serverId = 0] = await givenServers(t, t.acme, 1);
    const { id } = await t.db.adoptedServer.findFirstOrThrow({ where: { serverId } });
    const address = { address: '2001:db8:7::/64', kind: 'server' as const, name: 'metal', pool: null };
    await t.db.$transaction((tx) =>
      recordAddresses(tx, { teamId: asTeamId(t.acme.id), serverId: asServerId(id), name: 'metal' }, [address]),
    );
    await givenSet('metal.acme', 'AAAA', '2001:db8:7::1');
    const path = t.acme.path(`/connections/main/adopted-servers/${serverId}/`);

    const { body } = await t.api.as(t.acme.member).delete(`${path}?dryRun=true`).expect(200);

    expect(body).toMatchObject({ dryRun: true, resource: { metadata: { serverID: serverId } } });
    expect(body.recordSets).toEqual([set('metal.acme', 'AAAA', '2001:db8:7::1')]);
    expect(await t.db.adoptedServer.findFirst({ where: { id } })).toMatchObject({ deregisterRequestedAt: null });
  });

  it('names only those that a service account may read', async () => {
    const cluster = await givenCluster({ balancer: '192.0.2.5' });
    await givenSet('in.app.acme', 'A', '192.0.2.5');
    await givenSet('out.acme', 'A', '192.0.2.5');
    const namesFor = async (narrowing: object) => {
      const token = await t.createAccount(t.acme, `a-${randomUUID().slice(0, 8)}`, { role: 'viewer', ...narrowing });
      const { body } = await t.api.withToken(token).delete(`${cluster.path()}?dryRun=true`).expect(200);
      return body.recordSets.map(({ name }: { name: string }) => name);
    };
    const dns = { withinName: 'app.acme', withinTypes: [] };

    expect(await namesFor({})).toEqual(['in.app.acme', 'out.acme']);
    expect(await namesFor({ dns })).toEqual(['in.app.acme']);
    expect(await namesFor({ clusters: [cluster.name], dns })).toEqual(['in.app.acme']);
    expect(await namesFor({ clusters: [cluster.name] })).toEqual([]);
  });
});

describe('GET /dangling-record-sets/', () => {
  const dangling = async () => {
    const { body } = await t.acme.asMember.get('/dangling-record-sets/').expect(200);
    return body.items;
  };

  it('lists record sets of an address that is gone, until it is back or something else has it', async () => {
    const cluster = await givenCluster({ node: '192.0.2.20', balancer: 'lb-1.example.net' });
    await givenSet('shop.acme', 'CNAME', 'LB-1.example.net.');
    await givenSet('api.acme', 'A', '192.0.2.20', '192.0.2.21');
    expect(await dangling()).toEqual([]);

    await cluster.read({});

    const day = new Date().toISOString().slice(0, 10);
    expect(await dangling()).toEqual([
      {
        ...set('api.acme', 'A', '192.0.2.20'),
        goneAt: expect.any(String),
        reason: `192.0.2.20 was the node n1 of cluster ${cluster.name} until ${day}.`,
      },
      {
        ...set('shop.acme', 'CNAME', 'LB-1.example.net.'),
        goneAt: expect.any(String),
        reason: `LB-1.example.net. was the load balancer web/edge of cluster ${cluster.name} until ${day}.`,
      },
    ]);

    await givenCluster({ balancer: '192.0.2.20' });
    await cluster.read({ balancer: 'lb-1.example.net' });
    expect(await dangling()).toEqual([]);
  });
});
