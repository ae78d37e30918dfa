import { sessionStore } from '@corral/auth';
import { connectPool, connectPrisma } from '@corral/database';
import { startFlakyProxy, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { declare } from '../support/clusters.js';
import { type Following, untilChanges, untilEnded } from '../support/events/follow.js';
import { type LiveTest, startLiveTest, streamsAt } from '../support/events/live-test.js';
import { type Replica, startReplica } from '../support/events/start-replica.js';
import type { TestTeam } from '../support/start-cluster-api.js';

let live: LiveTest;
let first: Replica;
let second: Replica;
beforeAll(async () => {
  live = await startLiveTest();
  [first, second] = [await live.startReplica(), await live.startReplica({ heartbeatMs: 100 })];
});
afterEach(() => live.leaveAll());
afterAll(() => live.close());

describe('the right to follow', () => {
  const streamOfNew = async (name: string) => {
    const user = await live.api.createUser(`${name}@acme.test`, [{ team: live.api.acme, role: 'member' }]);
    const following = await live.begin(second, { user });
    await waitFor('a heartbeat', () => following.text().includes(': heartbeat'));
    return { user, following };
  };
  const endOf = ({ events }: Following) => JSON.parse(events.find(({ event }) => event === 'end')?.data ?? 'null');

  it('ends with the session', async () => {
    const { user, following } = await streamOfNew('revoked');
    await live.api.api.as(user).post('/auth/logout/').expect(204);

    await untilEnded(following);

    expect(endOf(following)).toMatchObject({ reason: 'session' });
    expect(following.answer.complete).toBe(true);
  });

  it('ends when the session expires', async () => {
    const { user, following } = await streamOfNew('expired');
    await live.api.pool.query(`UPDATE session SET idle_expires_at = now() - interval '1 s' WHERE user_id = $1`, [
      user.id,
    ]);

    await untilEnded(following);

    expect(endOf(following)).toMatchObject({ reason: 'session' });
  });

  it('ends with the membership, but not for other members', async () => {
    const { user, following } = await streamOfNew('removed');
    const other = await live.begin(second);
    await live.api.pool.query('DELETE FROM membership WHERE user_id = $1', [user.id]);

    await untilEnded(following);

    expect(endOf(following)).toMatchObject({ reason: 'session' });
    expect(other.isEnded()).toBe(false);
  });
});

describe('a client that does not read', () => {
  it('is disconnected and receives all events after it resumes', async () => {
    const slow = await live.begin(second, { connect: second.connectInMemory });
    slow.stopReading();
    await declare(live.api, live.api.acme, 'heavy');
    // Far more than the connection buffers.
    const COUNT = 300;
    await live.api.pool.query(
      `INSERT INTO operation (team_id, kind, target_kind, target_id, target_name, generation, state, desired_hash, error)
       SELECT $1, 'cluster.update', 'Cluster', gen_random_uuid(), 'n' || n, 1, 'failed', $2,
              jsonb_build_object('code', 'internal_error', 'message', $3::text, 'retryable', true, 'hint', 'Wait.')
       FROM generate_series(1, ${COUNT}) AS n`,
      [live.api.acme.id, `sha256:${'0'.repeat(64)}`, 'x'.repeat(4_000)],
    );

    await waitFor('the stream to be gone', async () => (await streamsAt(second)) === 0);
    slow.answer.resume();
    await untilEnded(slow);
    const seen = slow.changes();
    const lastEventId = seen.at(-1)?.id ?? slow.lastId();
    // The other replica has a longer heartbeat, which leaves a slow machine enough time to read.
    const rest = await untilChanges(await live.begin(first, { lastEventId }), COUNT + 3 - seen.length);

    const names = [...seen, ...rest].filter(({ kind }) => kind === 'Operation').map(({ name }) => name);
    expect(names).toEqual(['heavy', ...Array.from({ length: COUNT }, (_, at) => `n${at + 1}`)]);
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

  it('apply to all sessions of a person together', async () => {
    const { acme, signIn } = live.api;
    const at = await live.startReplica({ limits: { perPerson: 1, perTeam: 9, perProcess: 99 } });
    await live.begin(at);
    const cookie = await signIn(acme.member);

    await expectRefused(await ask(at, { ...acme, member: { ...acme.member, cookie } }), 'person');
  });

  it('apply per replica, whose last place is open to every team', async () => {
    const { acme, globex, createTeam } = live.api;
    const at = await live.startReplica({ limits: { perPerson: 9, perTeam: 9, perProcess: 2 } });
    const one = await live.begin(at);
    await live.begin(at, { team: globex, user: globex.member });

    await expectRefused(await ask(at, await createTeam('initech')), 'replica');

    one.leave();
    await waitFor('a place', async () => (await streamsAt(at)) === 1);
    await live.begin(at, { team: acme });
  });
});

describe('the end of a replica', () => {
  it('ends its streams immediately', async () => {
    const at = await live.startReplica();
    const following = await live.begin(at);

    await at.close();

    await untilEnded(following);
    expect(following.answer.complete).toBe(true);
    expect(following.events.at(-1)).toMatchObject({ event: 'end', data: expect.stringContaining('shutdown') });
    expect(await streamsAt(at)).toBe(0);
  });
});

describe('a quiet stream', () => {
  it('advances its position, so it can resume after its last event was deleted', async () => {
    const following = await live.begin(second);
    await live.api.pool.query('CREATE TABLE IF NOT EXISTS noise (n int)'); // any transaction moves the end of the events

    const id = await waitFor('a heartbeat with an id', () => /: heartbeat\nid: ([\w-]+)\n/.exec(following.text())?.[1]);

    await live.addOperation(live.api.acme, 'after');
    const [change] = await untilChanges(await live.begin(first, { lastEventId: id }), 1);
    expect(change?.name).toBe('after');
  });
});

describe('while the database is unavailable', () => {
  it('streams stay open and continue with all later events', async () => {
    const { hostname: host, port } = new URL(live.api.databaseUrl);
    const proxy = await startFlakyProxy({ host, port: Number(port) });
    const url = new URL(live.api.databaseUrl);
    url.host = `127.0.0.1:${proxy.port}`;
    const pool = connectPool({ databaseUrl: url.href, applicationName: 'replica', onIdleError: () => undefined });
    const prisma = connectPrisma(pool);
    const times = { idleMs: 3_600_000, absoluteMs: 3_600_000 };
    const at = await startReplica(live.api, {
      heartbeatMs: 100,
      databaseUrl: url.href,
      deps: { prisma, sessions: sessionStore(pool, times) },
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
});
