import { dnsTokenStore } from '@corral/auth';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { TestUser } from '../support/checked-client.js';
import { addConnection } from '../support/clusters.js';
import { type Following, summaryOf, untilChanges } from '../support/events/follow.js';
import { type LiveTest, startLiveTest, streamsAt } from '../support/events/live-test.js';
import type { Replica } from '../support/events/start-replica.js';
import { givenZone, ZONE, ZONE_ID } from '../support/given-audit.js';
import type { TestTeam } from '../support/start-cluster-api.js';

let live: LiveTest;
let replica: Replica;
let team: TestTeam;
beforeAll(async () => {
  live = await startLiveTest();
  replica = await live.startReplica();
  await givenZone(live.api);
});
let count = 0;
beforeEach(async () => {
  count += 1;
  team = await live.api.createTeam(`kinds-${count}`);
});
afterEach(() => live.leaveAll());
afterAll(() => live.close());

const follow = (user: TestUser = team.member) => live.begin(replica, { team, user });
const as = (user: TestUser) => live.api.api.as(user);
const sql = (text: string, values: unknown[] = []) => live.api.pool.query(text, values);
/** Every member sees an operation event, so its arrival proves that all earlier events have arrived. */
const allEvents = async (following: Following) => {
  await live.addOperation(team, 'the last');
  await waitFor('the last event', () => following.changes().at(-1)?.name === 'the last');
  return following.changes().slice(0, -1);
};

describe('record sets', () => {
  const bodyOf = (name: string, value: string) => ({
    id: `${name}/A`,
    name,
    type: 'A',
    ttl: 300,
    labels: {},
    protection: { change: false },
    records: [{ value, comment: '' }],
    zone: ZONE_ID,
    added_tomorrow: 1,
  });
  const put = (name: string, value: string, zoneId = ZONE_ID) =>
    sql(
      `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body) VALUES ($1, $2, 'A', $3, 1, $4)
       ON CONFLICT (zone_id, name, type) DO UPDATE SET body = excluded.body, updated_at = clock_timestamp()`,
      [zoneId, name, name.split('.').at(-1), JSON.stringify(bodyOf(name, value))],
    );

  it('cause events when the mirror adds, changes and deletes them, with the body of the DNS API', async () => {
    const name = `web.${team.slug}`;
    const following = await follow();

    await put(name, '192.0.2.1');
    const [made] = await untilChanges(following, 1);
    await put(name, '192.0.2.2');
    const [, changed] = await untilChanges(following, 2);
    await sql('DELETE FROM dns_rrset WHERE name = $1', [name]);
    const [, , deleted] = await untilChanges(following, 3);

    expect(made).toMatchObject({
      kind: 'RecordSet',
      change: 'changed',
      name,
      targetId: `${name}/A`,
      parent: ZONE,
      resource: bodyOf(name, '192.0.2.1'),
    });
    expect(changed?.resource).toEqual(bodyOf(name, '192.0.2.2'));
    expect(deleted).toMatchObject({ change: 'deleted', targetId: `${name}/A`, resource: null });
  });

  it('cause one event for several changes that are read together, and none for other teams', async () => {
    const name = `busy.${team.slug}`;
    const [following, foreign] = [await follow(), await live.begin(replica)];
    const { lastId, leave } = following;
    leave();
    await waitFor('the stream to end', async () => (await streamsAt(replica)) === 1);
    for (let value = 1; value <= 20; value += 1) await put(name, `192.0.2.${value}`);
    await put(`other.${team.slug}`, '192.0.2.1');
    await live.addOperation(live.api.acme, 'theirs');
    await live.untilAllIsOver();

    const late = await live.begin(replica, { team, lastEventId: lastId() });

    expect((await allEvents(late)).map((each) => [summaryOf(each), each.resource])).toEqual([
      [`RecordSet changed ${name}`, bodyOf(name, '192.0.2.20')],
      [`RecordSet changed other.${team.slug}`, bodyOf(`other.${team.slug}`, '192.0.2.1')],
    ]);
    expect((await untilChanges(foreign, 1)).map(summaryOf)).toEqual(['Operation changed theirs']);
  });

  it('cause no events when they are unchanged or belong to no team or to a demo', async () => {
    await sql(
      `INSERT INTO dns_zone (id, name, body, synced_at, of_demos) VALUES (7002, 'demo.test', '{}', now(), true)
       ON CONFLICT DO NOTHING`,
    );
    await put(`web.${team.slug}`, '192.0.2.1');
    const following = await follow();

    await put(`web.${team.slug}`, '192.0.2.1');
    await put('web.nobody', '192.0.2.1');
    await put(`web.${team.slug}`, '192.0.2.1', 7002);

    expect((await allEvents(following)).map(summaryOf)).toEqual([]);
  });

  it('cause no events when the transaction is rolled back', async () => {
    const following = await follow();
    const tx = await live.api.pool.connect();
    await tx.query('BEGIN');
    await tx.query(`INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body)
                    VALUES (${ZONE_ID}, 'undone.${team.slug}', 'A', '${team.slug}', 1, '{}')`);
    await tx.query('ROLLBACK');
    tx.release();

    expect(await allEvents(following)).toEqual([]);
  });
});

describe('DNS tokens', () => {
  const make = async (user: TestUser, name: string) =>
    (await as(user).post(team.path('/dns-tokens/')).send({ name }).expect(201)).body;

  it('cause events for their creator and administrators only, with the body of a GET', async () => {
    const other = await live.api.createUser(`other@${team.slug}.test`, [{ team, role: 'member' }]);
    const [own, admins, others] = [await follow(), await follow(team.admin), await follow(other)];

    const { token, ...shown } = await make(team.member, 'ci');
    const byOperator = await dnsTokenStore(live.api.db).issueToken(team, { name: 'of the team' });
    await as(team.member)
      .delete(team.path(`/dns-tokens/${shown.id}/`))
      .expect(204);

    const seen = await allEvents(own);
    expect(seen.map((each) => [summaryOf(each), each.targetId])).toEqual([
      ['DnsToken changed ci', shown.id],
      ['DnsToken changed ci', shown.id],
    ]);
    const revoked = (
      await as(team.member)
        .get(team.path(`/dns-tokens/${shown.id}/`))
        .expect(200)
    ).body;
    expect(seen.at(-1)?.resource).toEqual(revoked);
    expect((await allEvents(admins)).filter(({ kind }) => kind === 'DnsToken').map(({ name }) => name)).toEqual([
      'ci',
      'of the team',
      'ci',
    ]);
    expect((await allEvents(others)).filter(({ kind }) => kind === 'DnsToken')).toEqual([]);
    for (const following of [own, admins, others]) {
      expect(following.text()).not.toContain(token);
      expect(following.text()).not.toContain(byOperator.token);
    }
  });

  it('of others cause no more events for a demoted administrator', async () => {
    const was = await live.api.createUser(`was@${team.slug}.test`, [{ team, role: 'admin' }]);
    const following = await follow(was);
    await make(team.admin, 'before');
    // Wait: an event that an open transaction holds back would be filtered by the later role.
    await untilChanges(following, 1);

    const { number } = await live.api.db.membership.findFirstOrThrow({ where: { teamId: team.id, userId: was.id } });
    const path = `/a/${team.slug}/team/api/members/${number}/`;
    await as(team.admin).put(path).send({ role: 'member' }).expect(200);
    await make(team.admin, 'after');

    expect((await allEvents(following)).map(summaryOf)).toEqual([
      'DnsToken changed before',
      `Member changed was@${team.slug}.test`,
    ]);
  });

  it('cause no events when they are used', async () => {
    const { id } = await make(team.member, 'used');
    const following = await follow();

    await sql('UPDATE dns_token SET last_used_at = now() WHERE id = $1', [id]);

    expect(await allEvents(following)).toEqual([]);
  });
});

describe('connections', () => {
  it('cause events without their token when they are created, verified and deleted', async () => {
    const following = await follow();
    await addConnection(live.api, team, { phase: 'Unverified' });
    const [made] = await untilChanges(following, 1);
    await sql(`UPDATE connection SET phase = 'Ready', verified_at = now(), verify_at = now() WHERE team_id = $1`, [
      team.id,
    ]);
    const [, verified] = await untilChanges(following, 2);
    const body = (await as(team.member).get(team.path('/connections/main/')).expect(200)).body;
    await as(team.admin).delete(team.path('/connections/main/')).expect(204);

    expect(made).toMatchObject({ kind: 'Connection', name: 'main', resource: { status: { phase: 'Unverified' } } });
    expect(verified?.resource).toEqual(body);
    const deleted = (await allEvents(following)).slice(2);
    expect(deleted.map((each) => [summaryOf(each), each.targetId, each.resource])).toEqual([
      ['Connection deleted main', body.metadata.id, null],
    ]);
    expect(following.text()).not.toContain(Buffer.from('sealed').toString('base64'));
  });

  it('cause an event when the currency of their project becomes known', async () => {
    await addConnection(live.api, team);
    await sql(`UPDATE connection SET project = '{"reachable": true, "readOnly": false}' WHERE team_id = $1`, [team.id]);
    const { id } = await live.api.db.connection.findFirstOrThrow({ where: { teamId: team.id } });
    await sql('INSERT INTO price_list (connection_id) VALUES ($1) ON CONFLICT DO NOTHING', [id]);
    const following = await follow();

    await sql(`UPDATE price_list SET currency = 'EUR' WHERE connection_id = $1`, [id]);

    expect((await allEvents(following)).map(summaryOf)).toEqual(['Connection changed main']);
  });

  it('cause no events when their token is re-encrypted or a verification is scheduled', async () => {
    await addConnection(live.api, team);
    const following = await follow();

    await sql(
      `UPDATE connection SET sealed_token = '\\x00', token_key_id = 'k2', verify_at = now() WHERE team_id = $1`,
      [team.id],
    );

    expect(await allEvents(following)).toEqual([]);
  });
});

describe('members', () => {
  const shown = async (number: number) =>
    (await as(team.member).get(`/a/${team.slug}/team/api/members/${number}/`).expect(200)).body;

  it('cause events when they join, change and leave, with the body of a GET', async () => {
    const following = await follow();
    const email = `new@${team.slug}.test`;
    const user = await live.api.createUser(email, [{ team, role: 'member' }]);
    const [came] = await untilChanges(following, 1);
    const number = Number(came?.targetId);
    await sql(`UPDATE membership SET role = 'admin' WHERE number = $1`, [number]);
    await untilChanges(following, 2);
    await sql(`UPDATE app_user SET first_name = 'Ada', last_name = 'Lovelace' WHERE id = $1`, [user.id]);
    const [, promoted, named] = await untilChanges(following, 3);
    const body = await shown(number);
    await sql('DELETE FROM membership WHERE number = $1', [number]);

    expect(came).toMatchObject({ kind: 'Member', name: email, resource: { id: number, role: 'member' } });
    expect(promoted?.resource).toMatchObject({ id: number, role: 'admin' });
    expect([named?.name, named?.resource]).toEqual(['Ada Lovelace', body]);
    expect((await allEvents(following)).slice(3).map((each) => [summaryOf(each), each.targetId])).toEqual([
      ['Member deleted Ada Lovelace', String(number)],
    ]);
  });

  it('cause events when a user is deleted, but none when their team is deleted', async () => {
    const following = await follow();
    const user = await live.api.createUser(`gone@${team.slug}.test`, [{ team, role: 'member' }]);
    const doomed = await live.api.createTeam(`doomed-${count}`);
    await sql('DELETE FROM app_user WHERE id = $1', [user.id]);

    await sql('DELETE FROM team WHERE id = $1', [doomed.id]);

    const [came, gone] = await allEvents(following);
    expect([came?.change, gone?.change, gone?.targetId]).toEqual(['changed', 'deleted', came?.targetId]);
    const { rows } = await sql('SELECT FROM team_event WHERE team_id = $1', [doomed.id]);
    expect(rows).toEqual([]);
  });
});
