import { randomUUID } from 'node:crypto';
import type { ClusterSpec } from '@corral/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import type { TestUser } from '../support/checked-client.js';
import { addConnection, converge, declare, runningCluster } from '../support/clusters.js';
import { givenDnsEntry, givenToken, givenZone, ZONE, ZONE_ID } from '../support/given-audit.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

let t: TestClusterApi;
let team: TestTeam;
beforeAll(async () => {
  t = await startClusterApi();
  await givenZone(t);
});
afterAll(() => t.close());
beforeEach(async () => {
  team = await t.createTeam();
  await addConnection(t, team);
});

const undo = (user: TestUser, id: string, body: object = {}, query = '') =>
  t.api
    .as(user)
    .post(team.path(`/audit/${id}/undo/${query}`))
    .send(body);
const undoAll = (user: TestUser, body: object, query = '') =>
  t.api
    .as(user)
    .post(team.path(`/audit/undo/${query}`))
    .send(body);
const specOf = async (name: string): Promise<ClusterSpec> => (await team.asMember.get(`/clusters/${name}/`)).body.spec;
const newestEntry = async (name: string): Promise<string> =>
  (await team.asAdmin.get(`/audit/?name=${name}&limit=1`)).body.items[0].id;
const put = async (user: TestUser, name: string, spec: object): Promise<string> => {
  await t.api
    .as(user)
    .put(team.path(`/clusters/${name}/`))
    .send({ spec: aClusterSpec(spec) })
    .expect(202);
  return newestEntry(name);
};
const pools = (maximum: number) => ({ nodePools: [aPool({ maximum })] });

describe('undo of a change of a cluster', () => {
  it('shows in a dry run what it would do, and does it as a change by the caller', async () => {
    await runningCluster(t, team, 'web');
    const before = await specOf('web');
    await team.asMember.post('/clusters/web/hibernate/').expect(202);
    const id = await newestEntry('web');

    const { body: plan } = await undo(team.member, id, {}, '?dryRun=true').expect(200);

    expect(plan.items).toMatchObject([
      {
        kind: 'cluster',
        name: 'web',
        entries: [id],
        state: 'planned',
        before: { hibernated: false },
        now: { hibernated: true },
        to: { hibernated: false },
        changedSince: [],
        overwrites: [],
        changes: [{ pointer: '/spec/hibernated', from: true, to: false }],
      },
    ]);
    expect(plan.items[0].effects[0]).toMatchObject({ target: 'cluster', kind: 'resumed' });
    expect((await specOf('web')).hibernated).toBe(true);

    const { body: done } = await undo(team.member, id).expect(202);

    expect(done.items).toMatchObject([{ state: 'begun', operation: { target: { name: 'web' } } }]);
    expect(await specOf('web')).toEqual(before);
    const entry = await t.db.auditEntry.findFirstOrThrow({ where: { teamId: team.id }, orderBy: { id: 'desc' } });
    expect(entry).toMatchObject({ userId: team.member.id, detail: { undoes: id } });
  });

  it('keeps what others changed since, and refuses to take that back without saying so', async () => {
    await declare(team, 'web', pools(3));
    const id = await put(team.member, 'web', { ...pools(5), deletionProtection: true });
    const foreign = await put(team.admin, 'web', { ...pools(9), deletionProtection: true, hibernated: true });

    const { body: refusal } = await undo(team.member, id).expect(409);
    expect(refusal).toMatchObject({ code: 'undo_conflict', detail: expect.stringContaining('web (nodePools.') });
    expect(await specOf('web')).toMatchObject(pools(9));

    const { body: plan } = await undo(team.member, id, {}, '?dryRun=true').expect(200);
    expect(plan.items[0].changedSince).toEqual([
      {
        id: foreign,
        action: 'cluster.declare',
        actor: { kind: 'user', name: team.admin.email },
        createdAt: expect.any(String),
      },
    ]);
    await undo(team.member, id, { overwrite: 'of-another-plan' }).expect(409);
    await undo(team.member, id, { overwrite: plan.tag }).expect(202);

    expect(await specOf('web')).toMatchObject({ ...pools(3), deletionProtection: false, hibernated: true });
  });

  it('says why it is not possible: the same rules hold as for a declaration', async () => {
    await runningCluster(t, team, 'web', { kubernetesVersion: '1.32.8' });
    const id = await put(team.member, 'web', { kubernetesVersion: '1.33.4' });
    await converge(t, team, 'web');

    const { body } = await undo(team.member, id).expect(422);

    expect(body).toMatchObject({ code: 'undo_impossible', detail: expect.stringContaining('kubernetesVersion') });
  });

  it('says that a deleted cluster does not come back', async () => {
    await declare(team, 'web', { nodePools: [] });
    await team.asMember.delete('/clusters/web/').expect(204);

    const { body } = await undo(team.member, await newestEntry('web')).expect(422);

    expect(body).toMatchObject({ code: 'undo_impossible', detail: expect.stringContaining('does not come back') });
  });

  it('is for who did it and for administrators; for others of the team and other teams the entry does not exist', async () => {
    const viewer = await t.createUser(`viewer@${team.slug}.test`, [{ team, role: 'viewer' }]);
    const colleague = await t.createUser(`other@${team.slug}.test`, [{ team, role: 'member' }]);
    await declare(team, 'web', pools(3));
    const id = await put(team.member, 'web', pools(5));

    await undo(viewer, id).expect(403);
    await undo(viewer, id, {}, '?dryRun=true').expect(404);
    await undo(colleague, id).expect(404);
    await t.globex.asAdmin.post(`/audit/${id}/undo/`).expect(404);
    expect(await specOf('web')).toMatchObject(pools(5));

    await undo(team.admin, id).expect(202);
    expect(await specOf('web')).toMatchObject(pools(3));
  });

  it('is refused to a service account that may not delete, where it would remove a pool', async () => {
    const token = await t.createAccount(team, 'ci', { role: 'member', actions: ['read', 'change'] });
    await declare(team, 'web');
    const spec = aClusterSpec({ nodePools: [aPool(), aPool({ name: 'more' })] });
    await t.api.withToken(token).put(team.path('/clusters/web/')).send({ spec }).expect(202);

    const path = team.path(`/audit/${await newestEntry('web')}/undo/`);
    const { body } = await t.api.withToken(token).post(path).expect(422);

    expect(body).toMatchObject({ code: 'undo_impossible', detail: expect.stringContaining('may not delete: more') });
    expect((await specOf('web')).nodePools).toHaveLength(2);
  });

  it('of a span of time goes on where it was interrupted, and leaves the changes of others alone', async () => {
    for (const name of ['one', 'two', 'three']) await declare(team, name, pools(3));
    const since = new Date().toISOString();
    const first = await put(team.member, 'one', pools(5));
    await put(team.member, 'two', pools(5));
    await put(team.member, 'two', pools(7));
    await put(team.admin, 'three', pools(5));
    await undo(team.member, first).expect(202);

    const { body } = await undoAll(team.admin, { since, actor: team.member.email }).expect(202);

    expect(body.items.map((item: { name: string; state: string }) => [item.name, item.state])).toEqual(
      expect.arrayContaining([['two', 'begun']]),
    );
    expect(await Promise.all(['two', 'three'].map(specOf))).toMatchObject([pools(3), pools(5)]);
  });
});

describe('undo of writes of record sets', () => {
  const bodyOf = (value: string, ttl = 300) =>
    JSON.stringify({ name: 'www', type: 'A', ttl, labels: {}, records: [{ value, comment: '' }] });
  const content = (value: string) => ({ records: [{ value, comment: null }], ttl: 300, labels: {} });
  let name: string;
  let tokenId: string;
  beforeEach(async () => {
    name = `www.${team.slug}`;
    tokenId = await givenToken(t, team, 'pipeline');
  });
  const mirror = (value: string) =>
    t.pool.query(
      `INSERT INTO dns_rrset (zone_id, name, type, owner_label, body, record_count) VALUES ($1, $2, 'A', $3, $4, 1)`,
      [ZONE_ID, name, team.slug, bodyOf(value)],
    );
  const write = (from: string | null, to: string | null, more: object = {}) =>
    givenDnsEntry(t, team, {
      tokenId,
      operation: from === null ? 'create' : to === null ? 'delete' : 'set_records',
      beforeBody: from && bodyOf(from),
      afterBody: to && bodyOf(to),
      ...more,
    });

  it('answers the requests for the DNS API, and sends none itself', async () => {
    await mirror('192.0.2.2');
    const id = await write('192.0.2.1', '192.0.2.2');

    const { body } = await undo(team.admin, id).expect(200);

    expect(body.items).toMatchObject([
      {
        kind: 'recordSet',
        name,
        type: 'A',
        state: 'planned',
        now: content('192.0.2.2'),
        before: content('192.0.2.1'),
        to: content('192.0.2.1'),
        calls: [
          {
            method: 'POST',
            url: `https://dns.test/v1/zones/${ZONE}/rrsets/${name}/A/actions/set_records`,
            body: { records: [{ value: '192.0.2.1' }] },
          },
        ],
      },
    ]);
  });

  it('is also for the member who made the token that wrote', async () => {
    await mirror('192.0.2.2');
    const id = await write('192.0.2.1', '192.0.2.2');
    await undo(team.member, id, {}, '?dryRun=true').expect(404);

    await t.db.dnsToken.update({ where: { id: tokenId }, data: { createdById: team.member.id } });

    await undo(team.member, id).expect(200);
    const span = { since: new Date(Date.now() - 60_000).toISOString(), token: tokenId };
    const { body } = await undoAll(team.member, span).expect(200);
    expect(body.items).toMatchObject([{ entries: [id], to: content('192.0.2.1') }]);
    const { body: ofOthers } = await undoAll(team.member, { ...span, token: 'another' }).expect(200);
    expect(ofOthers.items).toEqual([]);
  });

  it('is refused if a later write would be lost, and names who made it', async () => {
    await mirror('192.0.2.3');
    const id = await write('192.0.2.1', '192.0.2.2', { createdAt: new Date(Date.now() - 2_000) });
    const later = await write('192.0.2.2', '192.0.2.3', { createdAt: new Date(Date.now() - 1_000) });

    const { body: refusal } = await undo(team.admin, id).expect(409);
    expect(refusal).toMatchObject({ code: 'undo_conflict', detail: expect.stringContaining(`${name} A (records)`) });

    const { body: plan } = await undo(team.admin, id, {}, '?dryRun=true').expect(200);
    expect(plan.items[0].changedSince).toMatchObject([{ id: later, actor: { kind: 'token', name: 'pipeline' } }]);
    await undo(team.admin, id, { overwrite: plan.tag }).expect(200);
  });

  it('of a demo has no plan: no token of the team writes there', async () => {
    const zoneId = 7002;
    await t.db.dnsZone.create({
      data: { id: zoneId, name: 'demos.test', body: '{}', syncedAt: new Date(), ofDemos: true },
    });
    const id = await write('192.0.2.1', '192.0.2.2', { zoneId });

    const { body } = await undo(team.admin, id, {}, '?dryRun=true').expect(200);

    expect(body.items).toMatchObject([
      { state: 'impossible', calls: [], reason: expect.stringContaining('of a demo') },
    ]);
  });

  it('reads only a part of a long log, also for somebody who did nothing in it', async () => {
    await t.pool.query(
      `INSERT INTO audit_entry (team_id, action, target_kind, target_id, target_name)
       SELECT $1, 'team.change', 'Team', $1, 'acme' FROM generate_series(1, 20001)`,
      [team.id],
    );

    const { body } = await undoAll(team.member, { since: new Date(Date.now() - 60_000).toISOString() }).expect(422);

    expect(body.detail).toContain('name a shorter time');
  });

  it('of a request without entries has nothing to do, and needs a request or a time', async () => {
    const { body } = await undoAll(team.admin, { requestId: randomUUID() }).expect(200);
    expect(body.items).toEqual([]);

    const { body: refusal } = await undoAll(team.admin, { name }).expect(422);
    expect(refusal.errors).toMatchObject([{ pointer: '/since' }]);
  });
});
