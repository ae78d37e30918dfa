import type { Served } from '@corral/http-api';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import type { TestUser } from '../support/checked-client.js';
import { addConnection, declareDraft } from '../support/clusters.js';
import { listen } from '../support/listen.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

let t: TestClusterApi;
let served: Served;
let teams = 0;
let acme: TestTeam;
let globex: TestTeam;

beforeAll(async () => {
  t = await startClusterApi({ connections: 10 });
  served = await listen(t.app);
});
beforeEach(async () => {
  teams += 1;
  [acme, globex] = [await t.createTeam(`acme-${teams}`), await t.createTeam(`globex-${teams}`)];
  await t.db.team.updateMany({ data: { clustersMax: 1_000 } });
  for (const team of [acme, globex]) await addConnection(t, team);
});
afterAll(async () => {
  await served.close();
  await t.close();
});

const send = (user: TestUser, method: string, path: string, body?: object, signal?: AbortSignal) =>
  fetch(`${served.url}${path}`, {
    method,
    headers: { Cookie: user.cookie, ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
const put = (team: TestTeam, name: string, maximum = 3, signal?: AbortSignal) => {
  const spec = aClusterSpec({ nodePools: [aPool({ maximum }), aPool({ name: 'more', maximum })] });
  return send(team.member, 'PUT', team.path(`/clusters/${name}/`), { spec }, signal);
};
/** The body of an answer to a change. */
interface Answer {
  readonly detail?: string;
  readonly operation?: { readonly id: string };
}

const countWaiting = async () =>
  Number(/^corral_changes_waiting_count\{[^}]*\} (\d+)$/m.exec(await t.deps.metrics.registry.metrics())?.[1]);

const untilOneWaitsForALock = () =>
  waitFor('one change to wait for a lock', async () => {
    const { rowCount } = await t.pool.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rowCount === 1;
  });

/** Holds the lock on a team's changes, as another process would. @returns a function that releases it */
async function hold(team: TestTeam, { pool } = t): Promise<() => Promise<void>> {
  const holder = await pool.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT FROM team_change_lock WHERE team_id = $1 FOR UPDATE', [team.id]);
  return async () => {
    await holder.query('COMMIT');
    holder.release();
  };
}

describe('while one team sends 290 concurrent changes', () => {
  it('other teams read and write, and each of the 290 is either accepted or refused with Retry-After', async () => {
    await declareDraft(t, globex, 'theirs');

    const flood = Array.from({ length: 290 }, async (_, index) => {
      const name = `web-${index % 200}`;
      const answer = await put(acme, name, 3 + (index % 2));
      return { name, status: answer.status, headers: answer.headers, body: (await answer.json()) as Answer };
    });
    const others: number[] = [];
    let isOver = false;
    const reads = (async () => {
      while (!isOver) {
        const answers = await Promise.all(
          ['/clusters/', '/clusters/theirs/', '/operations/', '/connections/'].map((rest) =>
            send(globex.member, 'GET', globex.path(rest)),
          ),
        );
        others.push(...answers.map(({ status }) => status));
      }
    })();
    const writes = (async () => {
      for (let maximum = 1; maximum <= 10; maximum += 1) others.push((await put(globex, 'mine', maximum)).status);
    })();
    const answers = await Promise.all(flood);
    await writes;
    isOver = true;
    await reads;

    expect(others.filter((status) => status !== 200 && status !== 202)).toEqual([]);
    for (const { status, headers, body } of answers) {
      expect([200, 202, 429, 503]).toContain(status);
      if (status < 400) continue;
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(body.detail).toMatch(/ the request (again )?after the time in Retry-After/);
    }
    const accepted = answers.filter(({ status }) => status === 202);
    expect(accepted.length).toBeGreaterThan(1);
    expect(answers.some(({ status }) => status === 429)).toBe(true);
    const operations = await t.db.operation.findMany({ where: { teamId: acme.id } });
    expect(operations.map(({ id }) => id).sort()).toEqual(accepted.map(({ body }) => body.operation?.id).sort());
    const clusters = await t.db.cluster.findMany({ where: { teamId: acme.id }, include: { nodePools: true } });
    expect(clusters.map(({ name }) => name).sort()).toEqual([...new Set(accepted.map(({ name }) => name))].sort());
    for (const cluster of clusters) expect(cluster.nodePools).toHaveLength(2);
  });
});

describe('a team whose changes are locked by another process', () => {
  it('occupies one connection of this process, and other teams make changes', async () => {
    const release = await hold(acme);
    const held = Array.from({ length: 20 }, (_, index) => put(acme, `held-${index}`));
    await waitFor('all but one to wait for their turn', async () => (await countWaiting()) === 19);

    await untilOneWaitsForALock();
    const others = await Promise.all(Array.from({ length: 10 }, (_, index) => put(globex, `free-${index}`)));
    await release();

    expect(others.map(({ status }) => status)).toEqual(others.map(() => 202));
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual(held.map(() => 202));
  });

  it('gets an error that names the other replica, and nothing has changed', async () => {
    const impatient = await startClusterApi({ lockTimeoutMs: 50 });
    try {
      const team = await impatient.createTeam('held');
      await addConnection(impatient, team);
      const release = await hold(team, impatient);
      const declare = () =>
        impatient.api.as(team.member).put(team.path('/clusters/web/')).send({ spec: aClusterSpec() });
      const refused = await Promise.resolve(declare()).finally(release);
      const accepted = await declare();

      const { status, headers, body } = refused;
      expect([status, body.code, headers['retry-after']]).toEqual([503, 'service_unavailable', '5']);
      expect(body.detail).toMatch(/^Nothing was changed: another change of the team/);
      expect(accepted.status).toBe(202);
    } finally {
      await impatient.close();
    }
  });

  it('drops the waiting change of a disconnected client', async () => {
    const release = await hold(acme);
    const leaving = new AbortController();
    const begun = put(acme, 'begun');
    await untilOneWaitsForALock();
    const left = put(acme, 'left', 3, leaving.signal).catch(() => 'gone');
    await waitFor('the other to wait for its turn', async () => (await countWaiting()) === 1);
    leaving.abort();
    await waitFor('it to be given up', async () => (await countWaiting()) === 0);
    await release();

    expect([(await begun).status, await left]).toEqual([202, 'gone']);
    expect((await put(acme, 'after')).status).toBe(202);
    const where = { teamId: acme.id, name: { in: ['begun', 'left', 'after'] } };
    const rows = await t.db.cluster.findMany({ where, orderBy: { name: 'asc' } });
    expect(rows.map(({ name }) => name)).toEqual(['after', 'begun']);
  });
});

describe('changes of clusters', () => {
  it('do not wait for locks on the team row, which DNS writes and demos take', async () => {
    const writer = await t.pool.connect();
    await writer.query('BEGIN');
    await writer.query('SELECT FROM team WHERE id = $1 FOR NO KEY UPDATE', [acme.id]);
    try {
      expect((await put(acme, 'beside')).status).toBe(202);
    } finally {
      await writer.query('COMMIT');
      writer.release();
    }
  });
});
