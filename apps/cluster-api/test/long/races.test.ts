import { endUser, lastUsedRecorder, userStore } from '@corral/auth';
import { connectPool, inTransaction, type Pool, type Queryable } from '@corral/database';
import type { Served } from '@corral/http-api';
import { createHealth, createMetrics, silentLog } from '@corral/service';
import { patientPool, waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { buildApp } from '../../src/build-app.js';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import { type ApiClient, checkedClient, type TestUser } from '../support/checked-client.js';
import {
  addConnection,
  type ClusterTest,
  converge,
  declare,
  declareDraft,
  freshName,
  startWithConnection,
} from '../support/clusters.js';
import { givenServers } from '../support/given-servers.js';
import { listen } from '../support/listen.js';
import { aSubscription, signed } from '../support/sign-billing.js';
import { PUBLIC_URL, startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const statuses = (answers: readonly { status: number }[]) => answers.map(({ status }) => status).sort();

describe('concurrent changes', () => {
  let t: ClusterTest;
  let name: string;
  const path = (rest = '') => t.acme.path(`/clusters/${name}/${rest}`);
  const put = (spec: object, of = name) =>
    t.api
      .as(t.acme.member)
      .put(t.acme.path(`/clusters/${of}/`))
      .send({ spec });
  const stored = async () => {
    const cluster = await t.db.cluster.findUnique({
      where: { teamId_name: { teamId: t.acme.id, name } },
      include: { nodePools: true },
    });
    const operations = await t.db.operation.findMany({ where: { targetName: name }, orderBy: { generation: 'asc' } });
    return { cluster, operations };
  };

  beforeAll(async () => {
    t = await startWithConnection();
  });
  afterAll(() => t.close());
  beforeEach(() => {
    name = freshName(t);
  });

  it('create one cluster from equal declarations', async () => {
    const answers = await Promise.all(times(20, () => put(aClusterSpec())));

    expect(statuses(answers)).toEqual([...times(19, () => 200), 202]);
    const { cluster, operations } = await stored();
    expect(cluster).toMatchObject({ generation: 1, revision: 1 });
    expect(operations).toHaveLength(1);
    const ids = answers.map(({ body }) => (body.resource ?? body).metadata.id);
    expect(new Set(ids).size).toBe(1);
  });

  it('are serialized when they differ, and leave one open operation', async () => {
    const answers = await Promise.all(
      times(20, (index) => put(aClusterSpec({ nodePools: [aPool({ maximum: index + 1 })] }))),
    );

    expect(statuses(answers)).toEqual(times(20, () => 202));
    const { cluster, operations } = await stored();
    expect(operations.map(({ generation }) => generation)).toEqual(times(20, (index) => index + 1));
    expect(operations.map(({ state }) => state)).toEqual([...times(19, () => 'superseded'), 'queued']);
    expect(cluster?.generation).toBe(20);
    const newest = answers.find(({ body }) => body.resource.metadata.generation === 20);
    expect(cluster?.nodePools[0]?.maximum).toBe(newest?.body.resource.spec.nodePools[0].maximum);
    expect(cluster?.desiredHash).toBe(newest?.body.operation.desiredHash);
  });

  it('with the same tag have one winner', async () => {
    await t.clusters.running(name);
    const { etag } = (await t.api.as(t.acme.member).get(path())).headers;

    const answers = await Promise.all(
      times(10, (index) =>
        put(aClusterSpec({ nodePools: [aPool({ maximum: 10 + index })] })).set('If-Match', etag as string),
      ),
    );

    expect(statuses(answers)).toEqual([202, ...times(9, () => 412)]);
  });

  it('add all their pools', async () => {
    await t.clusters.declare(name);

    const answers = await Promise.all(
      times(12, (index) =>
        t.api
          .as(t.acme.member)
          .put(path(`node-pools/p${index}/`))
          .send({ spec: aPool({ name: `p${index}` }) }),
      ),
    );

    expect(statuses(answers)).toEqual(times(12, () => 201));
    const { cluster } = await stored();
    expect(cluster?.nodePools).toHaveLength(13);
    expect(new Set(cluster?.nodePools.map(({ position }) => position)).size).toBe(13);
    expect(cluster?.generation).toBe(13);
  });

  it('never remove the last pool of a running cluster', async () => {
    await t.clusters.running(name, { nodePools: times(4, (index) => aPool({ name: `p${index}` })) });

    const answers = await Promise.all(
      times(4, (index) => t.api.as(t.acme.member).delete(path(`node-pools/p${index}/`))),
    );

    expect(statuses(answers)).toEqual([204, 204, 204, 422]);
    expect((await stored()).cluster?.nodePools).toHaveLength(1);
  });

  it('that declare and delete leave either a consistent cluster or none', async () => {
    await t.clusters.declare(name);

    const answers = await Promise.all([
      put(aClusterSpec({ plan: 'annual' })),
      t.api.as(t.acme.member).delete(path()),
      put(aClusterSpec({ plan: 'monthly' })),
    ]);

    expect(answers.map(({ status }) => status)).toEqual([202, 204, 202]);
    const { cluster, operations } = await stored();
    const open = operations.filter(({ state }) => state === 'queued');
    expect(open).toHaveLength(cluster === null ? 0 : 1);
    expect(open[0]?.targetId).toBe(cluster?.id);
    expect(open[0]?.desiredHash).toBe(cluster?.desiredHash);
  });

  it('never exceed the quota of clusters', async () => {
    const before = await t.db.cluster.count({ where: { teamId: t.acme.id } });
    await t.db.team.update({ where: { id: t.acme.id }, data: { clustersMax: before + 3 } });
    try {
      const answers = await Promise.all(times(10, (index) => put(aClusterSpec(), `${name}-${index}`)));

      expect(statuses(answers)).toEqual([202, 202, 202, ...times(7, () => 403)]);
      const refused = answers.find(({ status }) => status === 403);
      expect(refused?.body.code).toBe('quota_exceeded');
      expect(await t.db.cluster.count({ where: { teamId: t.acme.id } })).toBe(before + 3);
    } finally {
      await t.db.team.update({ where: { id: t.acme.id }, data: { clustersMax: 1_000 } });
    }
  });

  it('that delete a connection and declare a cluster on it leave both or neither', async () => {
    const refs = times(8, (index) => `${name}-${index}`);
    await Promise.all(refs.map((ref) => addConnection(t, t.acme, { ref })));

    const outcomes = await Promise.all(
      refs.map(async (ref) =>
        statuses(
          await Promise.all([
            put(aClusterSpec({ connectionRef: ref }), ref),
            t.api.as(t.acme.admin).delete(t.acme.path(`/connections/${ref}/`)),
          ]),
        ).join(),
      ),
    );

    for (const outcome of outcomes) expect(['202,409', '204,422']).toContain(outcome);
  });
});

describe('concurrent changes of all kinds in two processes, together with passes and gateways', () => {
  const SECRET = 'secret of the billing system';
  const ROUNDS = 3;
  const patientTransaction = { timeout: 60_000, maxWait: 60_000 };

  let t: TestClusterApi;
  /** Two processes of the service. Each schedules its own changes. Only locks serialize those of both. */
  let processes: ApiClient[];
  let errors: string[];
  /** Connections of the other writers. */
  let pool: Pool;

  beforeAll(async () => {
    t = await startClusterApi({
      config: { gardenFeatures: new Set(['adopted-nodes'] as const), billingSecrets: [SECRET] },
    });
    const other = buildApp({
      ...t.deps,
      metrics: createMetrics({ service: 'test' }),
      health: createHealth({ checks: {}, log: silentLog }),
    });
    processes = [t.api, checkedClient(other, PUBLIC_URL)];
    errors = [];
    pool = connectPool({
      databaseUrl: t.databaseUrl,
      applicationName: 'others',
      connectionsMax: 14,
      ...patientPool,
      onIdleError: () => undefined,
    });
    await t.db.team.updateMany({ data: { clustersMax: 1_000 } });
    for (const team of [t.acme, t.globex]) {
      await addConnection(t, team);
      await givenServers(t, team, 8);
      for (const name of ['one', 'two', 'three']) await declare(t, team, name);
      await converge(t, team, 'one');
      await t.pool.query(
        `INSERT INTO price_list (connection_id, currency, prices, priced_at)
       SELECT id, 'EUR', '{"serverTypes": {}, "primaryIpv4": {}}', now() FROM connection WHERE team_id = $1`,
        [team.id],
      );
    }
  });
  afterAll(async () => {
    await pool.end();
    await t.close();
  });

  /** The requests of members. `n` varies their content. */
  const requests = (
    api: ApiClient,
    team: TestTeam,
    n: number,
  ): (() => PromiseLike<{ status: number; text: string }>)[] => {
    const [member, admin] = [api.as(team.member), api.as(team.admin)];
    const cluster = (name: string, rest = '') => team.path(`/clusters/${name}/${rest}`);
    const own = (maximum: number) => aPool({ name: 'own', source: 'pooled', machineType: 'cx22', minimum: 0, maximum });
    const name = ['one', 'two', 'three'][n % 3] as string;
    return [
      () =>
        member
          .put(cluster(name))
          .send({ spec: aClusterSpec({ nodePools: [aPool({ maximum: 1 + (n % 5) }), own(n % 3)] }) }),
      () => member.put(cluster(`new-${n}`)).send({ spec: aClusterSpec({ nodePools: [aPool(), own(1)] }) }),
      () => member.delete(cluster(`new-${n - 1}`)),
      () => member.put(cluster(name, 'node-pools/own/')).send({ spec: own(n % 4) }),
      () => member.delete(cluster(name, 'node-pools/own/')),
      () => member.post(cluster(name, n % 2 === 0 ? 'hibernate/' : 'resume/')),
      () => member.post(cluster('one', 'kubeconfig/')),
      () => admin.put(team.path('/connections/main/')).send({ spec: connection(`token ${n}`) }),
      () => admin.put(team.path(`/connections/ref-${n % 2}/`)).send({ spec: connection('token') }),
      () => admin.delete(team.path(`/connections/ref-${n % 2}/`)),
      () => member.post(team.path('/dns-tokens/')).send({ name: `token ${n}` }),
      () => admin.put(`/a/${team.slug}/team/api/`).send({ name: `Team ${n}` }),
      () =>
        admin
          .post(`/a/${team.slug}/team/api/invitations/`)
          .send({ email: `new-${n}@${team.slug}.test`, role: 'member' }),
      () => api.post('/billing/webhook/').set(billing(team, n).headers).send(billing(team, n).body),
      () => removeMember(api, team, n),
    ];
  };

  const connection = (token: string) => ({ name: 'main', provider: 'hcloud', providerConfig: {}, token });

  function billing(team: TestTeam, n: number) {
    const stated_at = new Date(Date.UTC(2026, 0, 1) + n * 1_000).toISOString();
    const body = JSON.stringify({
      id: `evt_${team.slug}_${n}`,
      team: team.slug,
      stated_at,
      subscription: aSubscription(),
    });
    return { body, headers: { 'Content-Type': 'application/json', 'Corral-Signature': signed(body, SECRET) } };
  }

  /** Adds a member with a DNS token and removes them. */
  async function removeMember(api: ApiClient, team: TestTeam, n: number) {
    const user = await t.createUser(`leaves-${n}-${Math.random()}@${team.slug}.test`, [{ team, role: 'member' }]);
    await api.as(user).post(team.path('/dns-tokens/')).send({ name: 'own' });
    const key = { teamId: team.id, userId: user.id };
    const { number } = await t.db.membership.findUniqueOrThrow({ where: { teamId_userId: key } });
    return api.as(team.admin).delete(`/a/${team.slug}/team/api/members/${number}/`);
  }

  /** Writes of the reconciler, gateways and operators to the same rows, with their lock order. */
  const others = (team: TestTeam): ((tx: Queryable) => Promise<unknown>)[] => {
    const main = `(SELECT id FROM connection WHERE team_id = $1 AND ref = 'main')`;
    const run = (tx: Queryable, texts: string[]) =>
      texts.reduce<Promise<unknown>>((before, text) => before.then(() => tx.query(text, [team.id])), Promise.resolve());
    return [
      // The end of a pass over a cluster.
      (tx) =>
        run(tx, [
          `SELECT FROM cluster WHERE team_id = $1 AND name = 'one' FOR UPDATE`,
          `UPDATE operation SET progress = greatest(progress, 1) WHERE team_id = $1 AND target_name = 'one' AND state = 'queued'`,
          `UPDATE cluster SET revision = revision + 1 WHERE team_id = $1 AND name = 'one'`,
        ]),
      // The prices of a connection.
      (tx) =>
        run(tx, [
          `SELECT FROM cluster WHERE connection_id = ${main} ORDER BY id FOR NO KEY UPDATE`,
          `SELECT FROM connection WHERE id = ${main} FOR KEY SHARE`,
          `UPDATE price_list SET priced_at = now() WHERE connection_id = ${main}`,
          `UPDATE cluster SET revision = revision + 1 WHERE connection_id = ${main}`,
        ]),
      // A verification.
      (tx) =>
        run(tx, [
          `UPDATE connection SET verify_at = now() WHERE team_id = $1 AND ref = 'main'`,
          `UPDATE price_list SET due_at = now() WHERE connection_id = ${main}`,
        ]),
      // A pass over a server that becomes a node.
      (tx) =>
        run(tx, [
          `UPDATE adopted_server SET member_of_id = (SELECT cluster_id FROM node_pool WHERE id = node_pool_id)
       WHERE id = (SELECT min(id::text)::uuid FROM adopted_server WHERE team_id = $1 AND node_pool_id IS NOT NULL)`,
        ]),
      // The deletion of a namespace.
      (tx) =>
        run(tx, [
          `UPDATE team SET project_namespace = 'garden' WHERE id = $1`,
          `UPDATE connection SET garden_token_version = 0 WHERE team_id = $1`,
        ]),
      // A write of the gateway.
      (tx) =>
        run(tx, [
          `SELECT FROM team WHERE id = $1 FOR NO KEY UPDATE`,
          `SELECT count(*) FROM dns_audit_entry WHERE team_id = $1`,
        ]),
    ];
  };
  it('never deadlock', async () => {
    const teams = [t.acme, t.globex];
    const note = (what: string) => (error: unknown) => void errors.push(`${what}: ${error}`);
    const statuses = new Map<number, number>();
    const clients = processes.flatMap((api, process) =>
      teams.flatMap((team) =>
        Array.from({ length: requests(api, team, 0).length }, async (_, kind) => {
          for (let round = 0; round < ROUNDS && errors.length === 0; round += 1) {
            const request = requests(api, team, round + process)[kind] as () => PromiseLike<{
              status: number;
              text: string;
            }>;
            const { status, text } = await request();
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
            if (status >= 500) errors.push(text);
          }
        }),
      ),
    );
    let isOver = false;
    const until = async (work: () => Promise<unknown>) => {
      while (!isOver && errors.length === 0) await work();
    };
    const beside = [
      ...teams.flatMap((team) =>
        others(team).map((work, kind) => until(() => inTransaction(pool, work).catch(note(`other ${kind}`)))),
      ),
      until(async () => {
        const recorder = lastUsedRecorder(pool, note('last uses'));
        for (const { id } of await t.db.dnsToken.findMany({ select: { id: true } })) recorder.note(id);
        await recorder.close();
      }),
      until(async () => {
        const memberships = teams.map((team) => ({ team, role: 'member' as const }));
        const user = await t.createUser(`ends-${Math.random()}@acme.test`, memberships);
        for (const team of teams) await t.api.as(user).post(team.path('/dns-tokens/')).send({ name: 'own' });
        const found = (await userStore(t.db).findUser(user.email)) ?? user;
        await t.db.$transaction((tx) => endUser(tx, found, 'ada'), patientTransaction).catch(note('end of a user'));
      }),
    ];
    await Promise.all(clients).finally(() => {
      isOver = true;
    });
    await Promise.all(beside);

    expect(errors).toEqual([]);
    expect([...statuses.keys()].sort()).toEqual(expect.arrayContaining([200, 201, 202, 204]));
  });
});

describe('flood', () => {
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
    Number(/^corral_changes_waiting\{[^}]*\} (\d+)$/m.exec(await t.deps.metrics.registry.metrics())?.[1]);

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
});
