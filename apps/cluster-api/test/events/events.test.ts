import { dnsTokenStore, sessionStore } from '@corral/auth';
import { connectPool, connectPrisma } from '@corral/database';
import { patientTransactions, startFlakyProxy, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import type { TestUser } from '../support/checked-client.js';
import { addConnection, declare, declareDraft } from '../support/clusters.js';
import { type Following, summaryOf, untilChanges, untilEnded } from '../support/events/follow.js';
import { insertOperation, type LiveTest, startLiveTest, streamsAt } from '../support/events/live-test.js';
import { type Replica, startReplica } from '../support/events/start-replica.js';
import { givenZone, ZONE, ZONE_ID } from '../support/given-audit.js';
import { givenServers, join } from '../support/given-servers.js';
import type { TestTeam } from '../support/start-cluster-api.js';

let live: LiveTest;
let first: Replica;
let second: Replica;

beforeAll(async () => {
  live = await startLiveTest();
  await givenZone(live.api);
  [first, second] = [await live.startReplica(), await live.startReplica({ heartbeatMs: 100 })];
});

afterAll(() => live.close());
afterEach(() => live.leaveAll());

describe('a stream', () => {
  it('starts with `ready` and delivers changes made at another replica, with the current body', async () => {
    const following = await live.begin(first);
    const declared = await declare(live.api.acme, 'web');

    const changes = await untilChanges(following, 3);

    expect(following.answer.statusCode).toBe(200);
    expect(following.answer.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    expect(following.text()).toMatch(/^retry: \d+\n\nevent: ready\nid: [\w-]+\ndata: {/);
    expect(changes.map(summaryOf)).toEqual([
      'Cluster changed web',
      'NodePool changed general',
      'Operation changed web',
    ]);
    const [cluster, pool, operation] = changes;
    expect(cluster?.resource).toEqual((await live.api.acme.asMember.get('/clusters/web/')).body);
    expect([pool?.parent, pool?.resource]).toMatchObject(['web', { name: 'general' }]);
    expect(operation?.resource).toMatchObject({ id: declared.operation.id, state: 'queued' });
  });

  it('delivers changes of adopted servers with their connection', async () => {
    const following = await live.begin(first);
    await live.api.pool.query(
      `INSERT INTO adopted_server (team_id, connection_id, server_id, server_type, location, architecture, server_kind)
       SELECT team_id, id, 4711, 'cx22', 'hel1', 'amd64', 'cloud' FROM connection WHERE team_id = $1`,
      [live.api.acme.id],
    );
    const [adopted] = await untilChanges(following, 1);
    await live.api.pool.query('DELETE FROM adopted_server WHERE server_id = 4711');
    const [, deleted] = await untilChanges(following, 2);

    expect(adopted).toMatchObject({ kind: 'AdoptedServer', name: '4711', parent: 'main' });
    expect(adopted?.resource).toMatchObject({ kind: 'AdoptedServer', metadata: { serverID: 4711 } });
    expect(deleted).toMatchObject({ change: 'deleted', name: '4711', resource: null });
  });

  it('delivers a change of a pool when one of its servers becomes a ready node', async () => {
    const { api } = live;
    const { db, pool } = api;
    await declare(api.acme, 'backed');
    const [number] = await givenServers(api, api.acme, 1);
    const own = await db.nodePool.findFirstOrThrow({ where: { cluster: { name: 'backed' } } });
    await pool.query(`UPDATE node_pool SET source = 'pooled' WHERE id = $1`, [own.id]);
    await pool.query(`UPDATE adopted_server SET node_pool_id = $2 WHERE server_id = $1`, [number, own.id]);
    const following = await live.begin(first);

    await join(api, [number as number]);

    const changes = await untilChanges(following, 2);
    expect(changes.map(summaryOf)).toEqual([`AdoptedServer changed ${number}`, 'NodePool changed general']);
    expect(changes[1]).toMatchObject({ parent: 'backed', resource: { status: { pet: true, backingReady: 1 } } });
    await pool.query('UPDATE adopted_server SET node_pool_id = NULL WHERE server_id = $1', [number]);
    await pool.query('DELETE FROM adopted_server WHERE server_id = $1', [number]);
  });

  it('delivers deletions with the name and without a body', async () => {
    await declareDraft(live.api.acme, 'gone');
    const following = await live.begin(first);

    await live.api.acme.asMember.delete('/clusters/gone/').expect(204);

    const deleted = await waitFor('the event of the cluster', () =>
      following.changes().find(({ kind }) => kind === 'Cluster'),
    );
    expect([summaryOf(deleted), deleted.resource]).toEqual(['Cluster deleted gone', null]);
  });
});

describe('Last-Event-ID', () => {
  it('resumes at another replica without gaps or duplicates', async () => {
    const before = await live.begin(first);
    for (let number = 0; number < 5; number += 1) await live.addOperation(live.api.acme, `n${number}`);
    const seen = await untilChanges(before, 5);
    before.leave();
    for (let number = 5; number < 400; number += 1) await live.addOperation(live.api.acme, `n${number}`);

    const fresh = await live.startReplica();
    const after = await live.begin(fresh, { lastEventId: seen[2]?.id });
    const rest = await untilChanges(after, 397);

    expect(rest.map(({ name }) => name)).toEqual(Array.from({ length: 397 }, (_, at) => `n${at + 3}`));
    expect(after.events.map(({ event }) => event)).not.toContain('ready');
  });

  it.each(['none', 'a'.repeat(200)])('is refused when malformed: %s', async (id) => {
    const { body } = await live.api.acme.asMember.get('/events/').set('Last-Event-ID', id).expect(422);

    expect([body.code, body.errors[0].pointer]).toEqual(['validation_failed', '/headers/Last-Event-ID']);
  });

  it('starts with `reset` and continues from there when its events were deleted', async () => {
    const before = await live.begin(first);
    await live.addOperation(live.api.acme, 'old');
    await untilChanges(before, 1);
    before.leave();
    const ids = {
      aged: Buffer.from(`1.0.${Date.now() - 24 * 3_600_000}`).toString('base64url'),
      deleted: Buffer.from(`3.999999.${Date.now()}`).toString('base64url'),
      ofAnotherDatabase: Buffer.from(`${10n ** 15n}.0.${Date.now()}`).toString('base64url'),
    };

    for (const lastEventId of Object.values(ids)) {
      const following = await live.begin(await live.startReplica(), { lastEventId });
      await waitFor('reset', () => following.events[0]?.event === 'reset');
      await live.addOperation(live.api.acme, 'new');
      expect((await untilChanges(following, 1)).map(({ name }) => name)).toEqual(['new']);
    }
  });
});

describe('transactions that commit in another order than they began', () => {
  const transaction = async (name: string) => {
    const client = new pg.Client({ connectionString: live.api.databaseUrl });
    await client.connect();
    await client.query('BEGIN');
    await client.query(insertOperation, [live.api.acme.id, name]);
    return { commit: () => client.query('COMMIT').then(() => client.end()) };
  };

  it('lose no events, also for clients that resume in between', async () => {
    const steady = await live.begin(first);
    const [early, late] = [await transaction('early'), await transaction('late')];
    await late.commit();
    const between = await live.begin(second, { amidTransactions: true });
    await live.addOperation(live.api.acme, 'after');
    const held = await waitFor('an event to be held', async () =>
      (await first.metrics.registry.metrics()).includes('corral_event_teams_held{service="test"} 1'),
    );
    expect([held, steady.changes(), between.changes()]).toEqual([true, [], []]);
    const resumed = await live.begin(second, { lastEventId: between.lastId() });
    await early.commit();

    for (const following of [steady, between, resumed]) {
      expect((await untilChanges(following, 3)).map(({ name }) => name)).toEqual(['early', 'late', 'after']);
    }
  });
});

it('events of another team never arrive, whatever changes both teams make', async () => {
  const teams = [live.api.acme, live.api.globex];
  const streams = await Promise.all([first, second].flatMap((at) => teams.map((team) => live.begin(at, { team }))));
  let counter = 0;
  const change = fc.tuple(fc.integer({ min: 0, max: 1 }), fc.constantFrom('draft', 'operation', 'pool', 'delete'));
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 4, maxLength: 12 }), async (changes) => {
      await Promise.all(
        changes.map(async ([at, what]) => {
          const team = teams[at] as TestTeam;
          counter += 1;
          const name = `${team.slug}-${counter}`;
          if (what === 'operation') await live.addOperation(team, name);
          else if (what === 'pool') await declare(team, name);
          else await declareDraft(team, name);
          if (what === 'delete') await team.asMember.delete(`/clusters/${name}/`).expect(204);
          // Stay within the quota of clusters.
          await live.api.pool.query('DELETE FROM cluster WHERE team_id = $1 AND name = $2', [team.id, name]);
        }),
      );
    }),
    { numRuns: 8 },
  );
  const { rows } = await live.api.pool.query('SELECT team_id, target_name, target_id FROM team_event ORDER BY xid, id');
  for (const [at, following] of streams.entries()) {
    const team = teams[at % 2] as TestTeam;
    const all = rows.filter(({ team_id: id }) => id === team.id).map(({ target_id: id }) => id);
    await waitFor('the last event', () => following.changes().at(-1)?.targetId === all.at(-1));
    const seen = following.changes().map(({ targetId }) => targetId);
    expect(seen).toEqual(all.slice(-seen.length));
    expect(seen.length).toBeGreaterThan(20);
    expect(following.text()).not.toContain(`${teams[1 - (at % 2)]?.slug}-`);
  }
});

describe('the right to follow', () => {
  const streamOfNew = async (name: string) => {
    const user = await live.api.createUser(`${name}@acme.test`, [{ team: live.api.acme, role: 'member' }]);
    const following = await live.begin(second, { user });
    await waitFor('a heartbeat', () => following.text().includes(': heartbeat'));
    return { user, following };
  };
  const endOf = ({ events }: Following) => JSON.parse(events.find(({ event }) => event === 'end')?.data ?? 'null');

  it('is that of service accounts which may read, for all but tokens and members, until their token ends', async () => {
    const { api } = live;
    const token = await api.createAccount(api.acme, 'follower', { role: 'viewer' });
    const following = await live.begin(second, { token });
    await api.acme.asAdmin.post('/dns-tokens/').send({ name: 'unseen' }).expect(201);
    await live.addOperation(api.acme, 'seen');

    expect((await untilChanges(following, 1)).map(summaryOf)).toEqual(['Operation changed seen']);
    await api.acme.asAdmin.delete('/service-accounts/follower/').expect(204);
    await untilEnded(following);
    expect(following.events.at(-1)).toMatchObject({ event: 'end', data: expect.stringContaining('"session"') });
  });

  it.each<[string, (user: TestUser) => PromiseLike<unknown>]>([
    ['session', (user) => live.api.api.as(user).post('/auth/logout/').expect(204)],
    ['membership', ({ id }) => live.api.pool.query('DELETE FROM membership WHERE user_id = $1', [id])],
  ])('ends with the %s, but not for other members', async (of, end) => {
    const { user, following } = await streamOfNew(`without-${of}`);
    const other = await live.begin(second);
    await end(user);

    await untilEnded(following);

    expect(endOf(following)).toMatchObject({ reason: 'session' });
    expect([following.answer.complete, other.isEnded()]).toEqual([true, false]);
  });
});

describe('limits of open streams', () => {
  const ask = (at: Replica, team: TestTeam) =>
    fetch(`${at.url}${team.path('/events/')}`, { headers: { cookie: team.member.cookie } });
  const expectRefused = async (answer: Response, of: string): Promise<void> => {
    expect(answer.status).toBe(429);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await answer.json()).toMatchObject({ code: 'rate_limit_exceeded', detail: expect.stringContaining(of) });
  };

  it.each([
    ['person', { perPerson: 2, perTeam: 9, perProcess: 99 }],
    ['team', { perPerson: 9, perTeam: 2, perProcess: 99 }],
    ['team', { perPerson: 9, perTeam: 9, perProcess: 8 }], // a team may use a quarter of these
  ])('apply per %s and allow a new stream when one ends', async (of, limits) => {
    const at = await live.startReplica({ limits });
    const [one] = [await live.begin(at), await live.begin(at)];

    await expectRefused(await ask(at, live.api.acme), of);

    one?.leave();
    await waitFor('a place', async () => (await streamsAt(at)) === 1);
    await live.begin(at);
  });
});

it('the end of a replica ends its streams immediately', async () => {
  const at = await live.startReplica();
  const following = await live.begin(at);

  await at.close();

  await untilEnded(following);
  expect(following.answer.complete).toBe(true);
  expect(following.events.at(-1)).toMatchObject({ event: 'end', data: expect.stringContaining('shutdown') });
  expect(await streamsAt(at)).toBe(0);
});

it('while the database is unavailable streams stay open and continue with all later events', async () => {
  const { hostname: host, port } = new URL(live.api.databaseUrl);
  const proxy = await startFlakyProxy({ host, port: Number(port) });
  const url = new URL(live.api.databaseUrl);
  url.host = `127.0.0.1:${proxy.port}`;
  const pool = connectPool({ databaseUrl: url.href, applicationName: 'replica', onIdleError: () => undefined });
  const prisma = connectPrisma(pool, patientTransactions);
  const times = { idleMs: 3_600_000, absoluteMs: 3_600_000 };
  const at = await startReplica(live.api, {
    heartbeatMs: 100,
    databaseUrl: url.href,
    deps: { prisma, sessions: sessionStore(pool, prisma, times) },
  });
  try {
    const following = await live.begin(at);
    proxy.cut();
    await live.addOperation(live.api.acme, 'meanwhile');
    const beats = () => following.text().split(': heartbeat').length;
    const before = beats();
    await waitFor('heartbeats without a database', () => beats() > before + 3);
    expect([following.isEnded(), following.changes()]).toEqual([false, []]);

    proxy.restore();

    expect((await untilChanges(following, 1)).map(({ name }) => name)).toEqual(['meanwhile']);
    following.leave();
  } finally {
    await at.close();
    await prisma.$disconnect();
    await pool.end();
    await proxy.close();
  }
});

describe('events of each kind', () => {
  let team: TestTeam;
  let count = 0;
  beforeEach(async () => {
    count += 1;
    team = await live.api.createTeam(`kinds-${count}`);
  });
  const follow = (user: TestUser = team.member) => live.begin(first, { team, user });
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
  });

  it('connections cause events without their token when they are created, verified and deleted', async () => {
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
  });
});
